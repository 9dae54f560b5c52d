import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../package-root.ts';
import type { RouteRecord } from '../route/record.ts';
import { commentOf, keyText, typeDeclarations, typeOf } from './client-types.ts';
import type { OpenApiDocument } from './document.ts';
import { type JsonSchema, nameOfRef } from './json-schema.ts';
import { ownerOf } from './operations.ts';
import { otherProblem } from './problems.ts';

interface Operation {
  readonly summary: string;
  readonly parameters: readonly {
    $ref?: string;
    name: string;
    in: string;
    required?: boolean;
    schema: JsonSchema;
    description?: string;
  }[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, { schema: JsonSchema }>> };
  readonly responses: Readonly<Record<string, { content?: Readonly<Record<string, { schema: JsonSchema }>> }>>;
}

type Call = ReturnType<typeof callsOf>[number];

/** The source of a TypeScript client that needs nothing but `fetch`. The same application yields the same text. */
export function clientSource(document: OpenApiDocument, records: readonly RouteRecord[]): string {
  const { info, servers, components } = document as unknown as {
    info: { title: string; version: string };
    servers: readonly { url: string }[];
    components: { schemas: Record<string, JsonSchema>; responses: Record<string, unknown> };
  };
  const calls = callsOf(document, records);
  const { [otherProblem]: _, ...known } = components.schemas;
  // a problem of unknown status would make the union impossible to narrow
  const problems = Object.keys(known).filter((name) => name.endsWith('Problem'));
  const schemas = Object.fromEntries(
    Object.entries(known).map(([name, { examples: _, ...schema }]) => [name, schema as JsonSchema]),
  );
  const base = servers[0]?.url ?? '/';
  const groups = Map.groupBy(calls, ({ record }) => groupName(record));
  return [
    `// A client of ${info.title} ${info.version}, made by \`declarest client\`. Made again, it is the same: do not edit it.`,
    typeDeclarations(schemas),
    `/** Whatever a request can be refused with: \`status\` tells which. */\nexport type Problem = ${problems.join(' | ') || 'never'};`,
    ...queriesOf(calls),
    runtime(base === '/' ? '' : base),
    `/** Makes the client of an API at an address. */\nexport function createClient(options: ClientOptions) {\n  const send = sender(options);\n  return {\n${[...groups].map(([name, own]) => groupText(name, own)).join('\n')}\n  };\n}\n`,
  ].join('\n\n');
}

/** Every operation that responds with JSON. */
function callsOf(document: OpenApiDocument, records: readonly RouteRecord[]) {
  const paths = document.paths as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  return records.flatMap((record) => {
    const path = record.path.replace('{_format}', 'json');
    return record.methods.flatMap((method) => {
      const operation = paths[path]?.[method.toLowerCase()];
      return operation && method !== 'HEAD' ? [{ record, method, path, operation }] : [];
    });
  });
}

function groupName(record: RouteRecord): string {
  return camel(ownerOf(record));
}

function camel(text: string): string {
  return text.replace(/[^A-Za-z0-9]+(.)?/g, (_, next: string | undefined) => (next ?? '').toUpperCase());
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function isList({ record: { action }, method, operation }: Call): boolean {
  return method === 'GET' && action?.kind === 'index' && operation.parameters.some(({ name }) => name === 'page');
}

const verbs: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  index: { GET: 'list', POST: 'create' },
  entity: { GET: 'get', PATCH: 'update', PUT: 'replace', DELETE: 'remove' },
};

function callName({ record: { action, name, methods }, method }: Call, taken: (name: string) => boolean): string {
  const verb = action && verbs[action.kind]?.[method];
  if (verb) return verb;
  const own = camel((action?.name ?? name).replace(/^_+(?=.)/, ''));
  const plain = action?.association
    ? `${method === 'DELETE' ? 'remove' : 'add'}${capital(own)}`
    : methods.filter((one) => one !== 'HEAD').length > 1
      ? `${own}${capital(method.toLowerCase())}`
      : own;
  let called = plain;
  while (taken(called)) called += 'Action';
  return called;
}

function queryName({ record }: Call): string {
  return `${capital(groupName(record))}Query`;
}

function queriesOf(calls: readonly Call[]): string[] {
  return calls.filter(isList).map((call) => {
    const lines = inQuery(call.operation).map(
      ({ name, required, schema, description }) =>
        `${commentOf(description, '  ')}  ${keyText(name)}${required ? '' : '?'}: ${typeOf(schema)};`,
    );
    return `export interface ${queryName(call)} {\n${lines.join('\n')}\n}`;
  });
}

function inQuery({ parameters }: Operation) {
  // items with chosen fields would not have their type
  return parameters.filter(({ in: place, name }) => place === 'query' && name !== 'fields');
}

/** The parameter of a call for the body. No required parameter can follow one that may be left out. */
function bodyText(type: string, isRequired: boolean, query: readonly string[]): string {
  if (isRequired) return `body: ${type}`;
  return query.every((text) => text.endsWith(' = {}')) ? `body?: ${type}` : `body: ${type} | undefined`;
}

/** The parameter of a call for the query string. */
function queryOf(call: Call): string[] {
  const known = inQuery(call.operation);
  if (known.length === 0) return [];
  const keys = known.map(({ name, required, schema }) => `${keyText(name)}${required ? '' : '?'}: ${typeOf(schema)}`);
  const type = isList(call) ? queryName(call) : `{ ${keys.join('; ')} }`;
  return [`query: ${type}${known.some(({ required }) => required) ? '' : ' = {}'}`];
}

function groupText(name: string, calls: readonly Call[]): string {
  const supplied = new Set(
    Object.values(verbs)
      .flatMap((of) => Object.values(of))
      .concat('all'),
  );
  const names = new Set<string>();
  const methods = calls.map((call) => {
    const called = callName(call, (plain) => supplied.has(plain) || names.has(plain));
    names.add(called);
    return callText(call, called);
  });
  return `    ${keyText(name)}: {\n${methods.join('\n')}\n    },`;
}

function callText(call: Call, name: string): string {
  const { method, operation, path } = call;
  const inPath = operation.parameters.filter(({ in: place }) => place === 'path');
  const body = operation.requestBody?.content['application/json']?.schema;
  const list = isList(call);
  const query = queryOf(call);
  const parameters = [
    ...inPath.map(({ name: parameter, schema }) => `${camel(parameter)}: ${typeOf(schema)}`),
    ...(body ? [bodyText(typeOf(body), operation.requestBody?.required === true, query)] : []),
    ...query,
    ...optionsOf(operation),
  ];
  const result = resultOf(operation);
  const address = `\`${path.replace(/\{(\w+)\}/g, (_, parameter: string) => `\${part(${camel(parameter)})}`)}\``;
  const given = [body && 'body', query.length > 0 && 'query', optionsOf(operation).length > 0 && '...options']
    .filter(Boolean)
    .join(', ');
  const sent = given ? `, { ${given} }` : '';
  const comment = commentOf(operation.summary, '      ');
  const text = `${comment}      ${name}: (${parameters.join(', ')}): Promise<${result}> => send('${method}', ${address}${sent}),`;
  if (!list) return text;
  const item = `${result}['results'][number]`;
  const all = parameters.join(', ');
  return `${text}\n      /** Every item of the list, page by page. */\n      all: (${all}): AsyncGenerator<${item}, void> => pages<${item}>(send, ${address}, query),`;
}

/** The parameter for preconditions and idempotency keys. */
function optionsOf({ parameters }: Operation): string[] {
  const named = parameters.map(({ $ref }) => $ref && nameOfRef($ref));
  const isRequired = named.includes('IfMatchRequired');
  const condition = isRequired ? ['Required<Condition>'] : named.includes('IfMatch') ? ['Condition'] : [];
  const types = [...condition, ...(named.includes('IdempotencyKey') ? ['Once'] : [])].join(' & ');
  return types === '' ? [] : [`options: ${types}${isRequired ? '' : ' = {}'}`];
}

function resultOf({ responses }: Operation): string {
  const good = Object.entries(responses).find(([status]) => status.startsWith('2'));
  const schema = good?.[1].content?.['application/json']?.schema;
  return schema ? typeOf(schema) : 'void';
}

const runtimeFile = join(packageRoot, 'assets', 'client-runtime.ts');

/** The part that every client has, for links that begin with a base. */
function runtime(base: string): string {
  const source = readFileSync(runtimeFile, 'utf8');
  const text = source.slice(source.indexOf('export interface ClientOptions')).trimEnd();
  return text.replace("const base = '';", () => `const base = ${JSON.stringify(base)};`);
}
