import { type JsonSchema, type JsonType, type KnownSchema, visitSchema } from '../json-schema.ts';

/** The declarations of named schemas: an interface for each object, a type for everything else. */
export function typeDeclarations(schemas: Readonly<Record<string, JsonSchema>>): string {
  return Object.entries(schemas)
    .map(([name, schema]) => declarationOf(name, schema))
    .join('\n\n');
}

function declarationOf(name: string, schema: JsonSchema): string {
  const { description, properties, type } = schema as KnownSchema;
  const comment = commentOf(description, '');
  if (type !== 'object' || !properties) return `${comment}export type ${identifier(name)} = ${typeOf(schema)};`;
  return `${comment}export interface ${identifier(name)} ${bodyOf(schema, '')}`;
}

function bodyOf({ properties = {}, required = [] }: KnownSchema, indent: string): string {
  const lines = Object.entries(properties).map(([name, schema]) => {
    const optional = required.includes(name) ? '' : '?';
    const comment = commentOf((schema as KnownSchema).description, `${indent}  `);
    return `${comment}${indent}  ${keyText(name)}${optional}: ${typeOf(schema, `${indent}  `)};`;
  });
  return lines.length === 0 ? 'Record<string, never>' : `{\n${lines.join('\n')}\n${indent}}`;
}

export function typeOf(schema: JsonSchema, indent = ''): string {
  const typesOf = (schemas: readonly JsonSchema[]) => [...new Set(schemas.map((option) => typeOf(option, indent)))];
  return visitSchema(schema, {
    reference: identifier,
    constant: (value) => JSON.stringify(value),
    choice: (values) => values.map((value) => JSON.stringify(value)).join(' | '),
    union: (options) => typesOf(options).join(' | '),
    intersection: (parts) =>
      typesOf(parts)
        .map((part) => (part.includes('|') ? `(${part})` : part))
        .join(' & '),
    typed: (types, known) => [...new Set(types.map((type) => plainTypes[type](known, indent)))].join(' | '),
    anything: () => 'unknown',
  });
}

const plainTypes: Readonly<Record<JsonType, (schema: KnownSchema, indent: string) => string>> = {
  integer: () => 'number',
  number: () => 'number',
  boolean: () => 'boolean',
  string: () => 'string',
  null: () => 'null',
  array({ items }, indent) {
    const item = items ? typeOf(items, indent) : 'unknown';
    return /[ |{]/.test(item) ? `Array<${item}>` : `${item}[]`;
  },
  object: (schema, indent) => (schema.properties ? bodyOf(schema, indent) : 'Record<string, unknown>'),
};

export function keyText(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** A valid name for a TypeScript type. */
function identifier(name: string): string {
  return name.replace(/[^\w$]/g, '_').replace(/^(\d)/, '_$1');
}

export function commentOf(text: string | undefined, indent: string): string {
  return text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '* /').replace(/\s+/g, ' ')} */\n`;
}
