import type { ParameterDeclaration } from '../declaration/types.ts';
import { longestMatched } from '../serialization/parameter-reader.ts';
import type { JsonSchema } from './json-schema.ts';

const plainTypes: Readonly<Record<ParameterDeclaration['type'], JsonSchema>> = {
  string: { type: 'string' },
  integer: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  datetime: { type: 'string', format: 'date-time' },
  uuid: { type: 'string', format: 'uuid' },
};

/** Describes the query parameters that an action declares. */
export function declaredParameters(declared: readonly ParameterDeclaration[]): JsonSchema[] {
  return declared.map(({ default: fallback, description, list, name, required, ...value }) => {
    const one = valueSchema(value);
    const schema = list ? { type: 'array', items: one, minItems: 1 } : one;
    return {
      name,
      in: 'query',
      ...(required && { required }),
      ...(description !== null && { description }),
      schema: { ...schema, ...(fallback !== null && { default: fallback }) },
      ...(list && { style: 'form', explode: false }),
    };
  });
}

type Value = Pick<ParameterDeclaration, 'type' | 'enum' | 'minimum' | 'maximum' | 'pattern'>;

function valueSchema({ enum: allowed, maximum, minimum, pattern, type }: Value): JsonSchema {
  const plain = plainTypes[type];
  if (allowed.length > 0) return { type: (plain as { type: string }).type, enum: [...allowed] };
  return {
    ...plain,
    ...(minimum !== null && { minimum }),
    ...(maximum !== null && { maximum }),
    ...(pattern !== null && { pattern: `^(?:${pattern})$`, maxLength: longestMatched }),
  };
}
