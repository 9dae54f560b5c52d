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
export function clientOf(origin: string, api: Api, operation: Operation, request: SentRequest, hasToken: boolean): string {
  const args = argumentsOf(operation, request);
  const options = `{ baseUrl: ${script(origin)}${hasToken ? ', token' : ''} }`;
  return [
    "import { createClient } from './client.ts';",
    '',
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
  const { action, association, method, path } = operation;
  const verb = action !== null && verbs[action]?.[method];
  if (verb) return verb;
  const own = camel(
    (
      action ??
      path
        .replace(/\.\w+$/, '')
        .split('/')
        .at(-1) ??
      ''
    ).replace(/^_+(?=.)/, ''),
  );
  if (association !== null) return `${method === 'DELETE' ? 'remove' : 'add'}${capital(own)}`;
  const isOneOfSeveral = api.actions.filter((each) => each.path === path).length > 1;
  const plain = isOneOfSeveral ? `${own}${capital(method.toLowerCase())}` : own;
  const supplied = [...Object.values(verbs).flatMap((each) => Object.values(each)), 'all'];
  return supplied.includes(plain) ? `${plain}Action` : plain;
}

/** Path, body, query and options, in this order, without those at the end that are empty. */
function argumentsOf({ inPath, path, query }: Operation, { body, headers, target }: SentRequest): string[] {
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
  const hasQuery = query.some(({ name }) => name !== 'fields');
  const all = [
    ...parts,
    ...(body === undefined ? [] : [literal(body)]),
    ...(hasQuery ? [literal(Object.fromEntries(entries))] : []),
    literal(further),
  ];
  while (all.at(-1) === '{}') all.pop();
  return all;
}

/** A value of the path as the client takes it. */
function pathValue(schema: Operation['inPath'][number]['schema'] | undefined, encoded: string): string {
  const text = decodeURIComponent(encoded);
  return schema?.type === 'integer' && /^\d+$/.test(text) ? text : script(text);
}

/** A value of the query as the client takes it. */
function typedValue(schema: Operation['query'][number]['schema'] | undefined, text: string): unknown {
  if (schema?.type === 'array') return text.split(',').map((item) => typedValue(schema.items, item));
  if (schema?.type === 'integer' || schema?.type === 'number') return Number(text);
  return schema?.type === 'boolean' ? text === 'true' : text;
}

function valuesInPath(pattern: string, path: string): ReadonlyMap<string, string> {
  const names = [...pattern.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name as string);
  const source = pattern.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '([^/]+?)');
  const found = new RegExp(`^${source}$`).exec(path);
  return new Map(names.map((name, index) => [name, found?.[index + 1] ?? '']));
}
