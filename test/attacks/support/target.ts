import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { ApplicationOptions } from '../../../src/application.ts';
import { type DatabaseKind, type FreshDatabase, freshDatabase } from '../../support/databases.ts';
import { startApplication, type TestApplication, type TestResponse, type TestUser } from '../../support/testing.ts';

/** What an attacker sends. Nothing of it is put right on its way. */
export interface Sent {
  readonly json?: unknown;
  readonly body?: string | Uint8Array;
  /** A list sends the header more than once. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly as?: TestUser | undefined;
  /** Sent as `Authorization: Bearer`. */
  readonly token?: string;
  /** The application's own code fails, which is the one reason for a 500. */
  readonly isFault?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body as JSON, or undefined where it is none. */
  readonly json: any;
  /** Everything that came, headers included. */
  readonly whole: string;
}

/** An application under attack. */
export interface Target {
  readonly app: TestApplication;
  send(method: string, path: string, sent?: Sent): Promise<Answer>;
  /** Writes bytes to a connection and gives what comes back until it is closed, answer by answer. */
  raw(bytes: string | Uint8Array): Promise<Answer[]>;
  /** The rows of a statement, past the framework. */
  rows(sql: string): Promise<Record<string, unknown>[]>;
}

/** What tells of the inside: statements, drivers, stacks, files, packages. */
const insides = [
  /\b(?:select|insert into|update|delete from|from|join)\s+["`]\w+["`]/i,
  /\bas "?e\d?"?\b|"e\d?"\./,
  /\bsyntax error at|violates \w+ constraint|constraint failed|relation "|SQLSTATE|\bsqlite|postgres/i,
  /\bERR_[A-Z]|\bFST_|\bERRCODE|\berrno\b/,
  /\n\s+at |\(node:|file:\/\//,
  /node_modules|\/src\/|\.(?:ts|js|mjs):\d|\/(?:home|work|root|usr|tmp)\//,
  /mikro-?orm|fastify|find-my-way|\bpino\b|\bundici\b|kysely/i,
  /TypeError|RangeError|ReferenceError|SyntaxError|DriverException|Unexpected token/,
];

/**
 * Every answer of the suite comes through here: none is a failure of the server, tells of its inside, or claims another form
 * than it has.
 */
export function inspect(
  answer: Answer,
  { fault = null, repeats = '' }: { fault?: number | null; repeats?: string } = {},
): Answer {
  if (fault !== null) expect(answer.status).toBe(fault);
  else expect(answer.status, answer.whole).toBeLessThan(500);
  // what the attacker wrote may be repeated
  const own = withoutOwn(answer.whole, repeats);
  for (const inside of insides) expect(own).not.toMatch(inside);
  // none is left to a cache to decide about
  expect(answer.headers['cache-control'], answer.whole).toBeDefined();
  // a handler of the application's own may answer with a list of violations
  if (answer.status >= 400 && answer.text !== '' && !Array.isArray(answer.json)) {
    const isXml = answer.text.startsWith('<');
    expect(answer.headers['content-type']).toBe(`application/problem+${isXml ? 'xml' : 'json'}; charset=utf-8`);
    expect(isXml ? Number(/<status>(\d+)<\/status>/.exec(answer.text)?.[1]) : answer.json.status).toBe(answer.status);
  }
  return answer;
}

/** An answer that came by way of {@link TestApplication.request}, as one of ours. */
export function answerOf({ headers, json, status, text }: TestResponse): Answer {
  const head = [...headers].map((header) => header.join(': ')).join('\n');
  return { status, headers: Object.fromEntries(headers), text, json, whole: `${status}\n${head}\n\n${text}` };
}

function withoutOwn(text: string, repeats: string): string {
  const forms = [repeats, JSON.stringify(repeats).slice(1, -1)].filter((form) => form !== '');
  return forms.reduce((rest, form) => rest.replaceAll(form, ''), text);
}

/** The example application, as it is. */
export const example: ApplicationOptions = { directory: join(import.meta.dirname, '../../../examples/courses') };

/** Starts an application before the tests of the block, on a database of its own, and closes it after them. */
export function useTarget(kind: DatabaseKind, options: ApplicationOptions): Target {
  let database: FreshDatabase;
  let app: TestApplication;
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({ ...options, databaseUrl: database.url });
  });
  afterAll(async () => {
    agent.destroy();
    await app?.close();
    await database?.drop();
  });
  return {
    get app() {
      return app;
    },
    send: (method, path, sent = {}) => send(app, agent, method, path, sent),
    raw: (bytes) => sendRaw(app, bytes),
    rows: (sql) => app.application.mapper.em.fork().execute(sql),
  };
}

async function send(app: TestApplication, agent: Agent, method: string, path: string, sent: Sent): Promise<Answer> {
  const { as, body, headers = {}, isFault = false, json, token = as && (await app.tokenFor(as)) } = sent;
  const bytes = json !== undefined ? JSON.stringify(json) : body;
  const answer = await new Promise<Answer>((resolve, reject) => {
    const { hostname, port } = new URL(app.url);
    const request = httpRequest(
      {
        agent,
        hostname,
        port,
        method,
        path,
        headers: {
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...(bytes !== undefined && { 'content-length': String(Buffer.byteLength(bytes)) }),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const head = response.rawHeaders.join('\n');
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: parsed(text),
            whole: `${response.statusCode}\n${head}\n\n${text}`,
          });
        });
      },
    );
    request.on('error', reject);
    request.end(bytes);
  });
  const inBody = typeof bytes === 'string' && bytes.length < 10_000 ? bytes : '';
  return inspect(answer, { fault: isFault ? 500 : null, repeats: inBody.length > path.length ? inBody : path });
}

async function sendRaw(app: TestApplication, bytes: string | Uint8Array): Promise<Answer[]> {
  const { hostname, port } = new URL(app.url);
  const received = await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => socket.write(bytes as Uint8Array));
    socket.setTimeout(5000, () => socket.destroy());
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('close', () => resolve(Buffer.concat(chunks)));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
  });
  return answersIn(received).map((answer) => inspect(answer, { repeats: firstTarget(bytes) }));
}

function firstTarget(bytes: string | Uint8Array): string {
  return (
    Buffer.from(bytes as Uint8Array)
      .toString('latin1')
      .split(' ', 2)[1] ?? ''
  );
}

/** Parts what came over a connection into answers. None of ours is chunked. */
function answersIn(received: Buffer): Answer[] {
  const answers: Answer[] = [];
  let rest = received;
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) throw new Error(`no answer: ${rest.toString('latin1')}`);
    const [line = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const headers = Object.fromEntries(
      lines.map((each) => [each.split(':', 1)[0]?.toLowerCase(), each.replace(/^[^:]*: ?/, '')]),
    );
    const stop = end + 4 + Number(headers['content-length'] ?? 0);
    const text = rest.subarray(end + 4, stop).toString();
    answers.push({
      status: Number(line.split(' ')[1]),
      headers,
      text,
      json: parsed(text),
      whole: rest.subarray(0, stop).toString(),
    });
    rest = rest.subarray(stop);
  }
  return answers;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
