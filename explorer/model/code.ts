import type { Api, Operation } from './document.ts';
import { entriesOf } from './location.ts';

/** A request as it is sent. The token is not a part of it. */
export interface SentRequest {
  readonly method: string;
  /** The path with its query string. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** How the caller authenticates: the header, and what stands before the token. */
export interface Credential {
  readonly header: string;
  readonly prefix: string;
}

/** The request as a command for a POSIX shell. The token is read from the variable TOKEN. */
export function curlOf(origin: string, request: SentRequest, credential: Credential | null): string {
  const { body, headers, method, target } = request;
  const parts = [
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    ...(credential ? [`-H "${credential.header}: ${credential.prefix}$TOKEN"`] : []),
    ...Object.entries({ ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) }).map(
      ([name, value]) => `-H ${shell(`${name}: ${value}`)}`,
    ),
    // @ at the beginning would name a file, so the text is never read as one
    ...(body === undefined ? [] : [`--data-raw ${shell(JSON.stringify(body))}`]),
  ];
  return [`curl -g ${shell(origin + target)}`, ...parts].join(' \\\n  ');
}

function shell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The request as JavaScript for `fetch`. */
export function fetchOf(origin: string, { body, headers, method, target }: SentRequest, credential: Credential | null): string {
  const own = Object.entries({ ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) });
  const lines = [
    ...(credential ? [`    ${script(credential.header)}: \`${credential.prefix}\${token}\`,`] : []),
    ...own.map(([name, value]) => `    ${script(name)}: ${script(value)},`),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: ${script(method)},`]),
    ...(lines.length > 0 ? ['  headers: {', ...lines, '  },'] : []),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indented(literal(body), 2)}),`]),
  ];
  const call =
    options.length === 0 ? `fetch(${script(origin + target)})` : `fetch(${script(origin + target)}, {\n${options.join('\n')}\n})`;
  return `const response = await ${call};\n${method === 'DELETE' ? 'console.log(response.status);' : 'const data = await response.json();'}`;
}

function indented(text: string, by: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(by)}`);
}

/** A string as JavaScript. */
function script(text: string): string {
  const quoted = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  // JSON allows these two in strings, and so does JavaScript, but some editors break the line
  return `'${quoted.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}'`;
}

/** A JSON value as JavaScript. */
function literal(value: unknown): string {
  if (typeof value === 'string') return script(value);
  if (Array.isArray(value))
    return value.length === 0 ? '[]' : `[\n${value.map((item) => `  ${indented(literal(item), 2)},`).join('\n')}\n]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  if (entries.length === 0) return '{}';
  return `{\n${entries.map(([name, each]) => `  ${keyOf(name)}: ${indented(literal(each), 2)},`).join('\n')}\n}`;
}

function keyOf(name: string): string {
  if (name === '__proto__') return "['__proto__']";
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : script(name);
}

const verbs: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  _index: { GET: 'list', POST: 'create' },
  _aggregate: { GET: 'aggregate' },
  _entity: { GET: 'get', PATCH: 'update', PUT: 'replace', DELETE: 'remove' },
};

/** The request as a call of the generated client: `client.person.list({ q: 'ada' })`. */
export function clientOf(
  base: string,
  api: Api,
  operation: Operation,
  request: SentRequest,
  credential: Credential | null,
): string {
  const { args, untyped } = argumentsOf(operation, request);
  const header = credential && (credential.prefix === '' ? `headers: { ${script(credential.header)}: token }` : 'token');
  const options = `{ ${[`baseUrl: ${script(base)}`, ...(header ? [header] : [])].join(', ')} }`;
  return [
    "import { createClient } from './client.ts';",
    '',
    ...(untyped.length > 0 ? [`// the client has no type for ${untyped.join(', ')}`] : []),
    `const client = createClient(${options});`,
    `${operation.method === 'DELETE' && operation.action === '_entity' ? '' : 'const data = '}await client${access(camel(api.name))}${access(callName(api, operation))}(${args.join(', ')});`,
  ].join('\n');
}

function access(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${script(name)}]`;
}

function camel(text: string): string {
  return text.replace(/[^A-Za-z0-9]+(.)?/g, (_, next: string | undefined) => (next ?? '').toUpperCase());
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function callName(api: Api, operation: Operation): string {
  const { action, association, id, method, path } = operation;
  const verb = action !== null && verbs[action]?.[method];
  if (verb) return verb;
  const isOneOfSeveral = api.actions.filter((each) => each.path === path).length > 1;
  const own = action === null ? routeName(id ?? '', isOneOfSeveral ? method : '') : camel(action.replace(/^_+(?=.)/, ''));
  if (association !== null) return `${method === 'DELETE' ? 'remove' : 'add'}${capital(own)}`;
  const plain = isOneOfSeveral ? `${own}${capital(method.toLowerCase())}` : own;
  const { _aggregate: counts, ...others } = verbs;
  const supplied = Object.values({ ...others, ...(api.aggregate && { counts }) }).flatMap((each) => Object.values(each ?? {}));
  return [...supplied, 'all', 'createMany', 'updateMany', 'deleteMany'].includes(plain) ? `${plain}Action` : plain;
}

/** The name of the route of a service: its operation id, which begins with the method if the path has several. */
function routeName(id: string, method: string): string {
  const name = id.slice(method.length);
  return name.charAt(0).toLowerCase() + name.slice(1);
}

/** Path, body, query and options, in this order, without those at the end that are empty. */
function argumentsOf(
  { body: takesBody, inPath, path, query }: Operation,
  { body, headers, target }: SentRequest,
): { readonly args: readonly string[]; readonly untyped: readonly string[] } {
  const [sentPath = '', sentQuery = ''] = target.split(/\?(.*)/s);
  const values = valuesInPath(path, sentPath);
  const parts = inPath.map(({ name, schema }) => {
    const value = values.get(name) ?? '';
    if (schema.type !== 'array') return pathValue(schema, value);
    return `[${value
      .split(',')
      .map((part) => pathValue(schema.items, part))
      .join(', ')}]`;
  });
  const entries = entriesOf(sentQuery).map(
    ([name, value]) => [name, typedValue(query.find((each) => each.name === name)?.schema, value)] as const,
  );
  const further = {
    ...(headers['If-Match'] !== undefined && { ifMatch: headers['If-Match'] }),
    ...(headers['Idempotency-Key'] !== undefined && { idempotencyKey: headers['Idempotency-Key'] }),
  };
  // rows with chosen fields would not match their type
  const typed = new Set(query.map(({ name }) => name).filter((name) => name !== 'fields'));
  const untyped = entries.map(([name]) => name).filter((name) => !typed.has(name));
  const all = [
    ...parts,
    ...(takesBody ? [body === undefined ? 'undefined' : literal(body)] : []),
    ...(typed.size > 0 ? [literal(Object.fromEntries(entries)) + (untyped.length > 0 ? ' as never' : '')] : []),
    literal(further),
  ];
  while (all.at(-1) === '{}' || all.at(-1) === 'undefined') all.pop();
  return { args: all, untyped: untyped.map(oneLine) };
}

/** A name in a comment. */
function oneLine(name: string): string {
  return name.replace(/[\r\n\u2028\u2029]/g, ' ');
}

/** A value of the path as the client takes it. */
function pathValue(schema: Operation['inPath'][number]['schema'] | undefined, encoded: string): string {
  const text = decodeURIComponent(encoded);
  return schema?.type === 'integer' && /^\d+$/.test(text) ? text : script(text);
}

/** A value of the query as the client takes it. */
function typedValue(schema: Operation['query'][number]['schema'] | undefined, text: string): unknown {
  if (schema?.type === 'array') return itemsOf(text).map((item) => typedValue(schema.items, item));
  if (schema?.type === 'integer' || schema?.type === 'number') return Number(text);
  return schema?.type === 'boolean' ? text === 'true' : text;
}

/** The items of a list in a query: a comma within one has a backslash before it. */
function itemsOf(text: string): readonly string[] {
  const items = text.match(/(?:[^\\,]|\\.)+|(?<=^|,)(?=,|$)/gs) ?? [];
  return items.map((item) => item.replace(/\\(.)/gs, '$1'));
}

function valuesInPath(pattern: string, path: string): ReadonlyMap<string, string> {
  const names = [...pattern.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name as string);
  const source = pattern.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '([^/]+?)');
  const found = new RegExp(`^${source}$`).exec(path);
  return new Map(names.map((name, index) => [name, found?.[index + 1] ?? '']));
}
