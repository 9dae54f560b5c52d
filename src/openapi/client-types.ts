import type { JsonSchema } from './json-schema.ts';

interface Shape {
  readonly $ref?: string;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly description?: string;
}

/** The declarations of named schemas: an interface for each object, a type for everything else. */
export function typeDeclarations(schemas: Readonly<Record<string, JsonSchema>>): string {
  return Object.entries(schemas)
    .map(([name, schema]) => declarationOf(name, schema))
    .join('\n\n');
}

function declarationOf(name: string, schema: JsonSchema): string {
  const { description, properties, type } = schema as Shape;
  const comment = commentOf(description, '');
  if (type !== 'object' || !properties) return `${comment}export type ${identifier(name)} = ${typeOf(schema)};`;
  return `${comment}export interface ${identifier(name)} ${bodyOf(schema, '')}`;
}

function bodyOf({ properties = {}, required = [] }: Shape, indent: string): string {
  const lines = Object.entries(properties).map(([name, schema]) => {
    const optional = required.includes(name) ? '' : '?';
    const comment = commentOf((schema as Shape).description, `${indent}  `);
    return `${comment}${indent}  ${keyText(name)}${optional}: ${typeOf(schema, `${indent}  `)};`;
  });
  return lines.length === 0 ? 'Record<string, never>' : `{\n${lines.join('\n')}\n${indent}}`;
}

/** A schema as a TypeScript type. */
export function typeOf(schema: JsonSchema, indent = ''): string {
  const { $ref, anyOf, oneOf, const: constant, enum: items, type } = schema as Shape;
  if ($ref !== undefined) return identifier($ref.slice($ref.lastIndexOf('/') + 1));
  if (constant !== undefined) return JSON.stringify(constant);
  if (items) return items.map((item) => JSON.stringify(item)).join(' | ');
  const options = anyOf ?? oneOf;
  if (options) return [...new Set(options.map((option) => typeOf(option, indent)))].join(' | ');
  if (type === undefined) return 'unknown';
  return [...new Set([type].flat().map((one) => plainType(one, schema as Shape, indent)))].join(' | ');
}

function plainType(type: string, schema: Shape, indent: string): string {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'array': {
      const item = schema.items ? typeOf(schema.items, indent) : 'unknown';
      return /[ |{]/.test(item) ? `Array<${item}>` : `${item}[]`;
    }
    case 'object':
      return schema.properties ? bodyOf(schema, indent) : 'Record<string, unknown>';
    default:
      return type;
  }
}

export function keyText(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** A name that TypeScript takes for a type. */
function identifier(name: string): string {
  return name.replace(/[^\w$]/g, '_').replace(/^(\d)/, '_$1');
}

export function commentOf(text: string | undefined, indent: string): string {
  return text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '* /').replace(/\s+/g, ' ')} */\n`;
}
