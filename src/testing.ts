import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { jwtSecret } from './access/jwt-keys.ts';
import { signToken } from './access/sign-token.ts';
import { type Application, type ApplicationOptions, loadApplication } from './application.ts';
import { serverOf } from './server.ts';

/** What a test sends. */
export interface TestRequest {
  /** Sent as a JSON body. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Calls as this user, with a token that the application itself would accept. */
  readonly as?: TestUser;
}

export interface TestUser {
  readonly id: string | number;
  readonly roles?: readonly string[];
  readonly [claim: string]: unknown;
}

/** What came back. */
export interface TestResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON, or undefined where it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects by asserting it
  readonly json: any;
}

/** An application that runs for a test. */
export interface TestApplication {
  readonly url: string;
  readonly app: FastifyInstance;
  readonly application: Application;
  /** The text of every statement that was sent to the database since the list was last emptied. */
  readonly statements: string[];
  request(method: string, path: string, request?: TestRequest): Promise<TestResponse>;
  tokenFor(user: TestUser): Promise<string>;
  close(): Promise<void>;
}

/** Starts an application on a free port of the loopback interface. */
export async function startApplication(options: ApplicationOptions): Promise<TestApplication> {
  const statements: string[] = [];
  const application = await loadApplication({
    ...options,
    onStatement: (sql) => {
      statements.push(sql);
      options.onStatement?.(sql);
    },
  });
  const app = await serverOf(application);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;

  async function tokenFor({ id, roles = [], ...claims }: TestUser): Promise<string> {
    const { directory, production, declaration } = application;
    if (!declaration.security.jwt) throw new Error('the application takes no tokens: declare security.jwt');
    const secret = await jwtSecret(declaration.security.jwt, { directory, production });
    return signToken({ secret, declaration: declaration.security.jwt, sub: String(id), roles, claims });
  }

  async function request(
    method: string,
    path: string,
    { json, body, headers = {}, as }: TestRequest = {},
  ): Promise<TestResponse> {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...(as && { authorization: `Bearer ${await tokenFor(as)}` }),
        ...headers,
      },
      body: json !== undefined ? JSON.stringify(json) : ((body ?? null) as string | null),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parsed(text) };
  }

  return { url, app, application, statements, request, tokenFor, close: () => app.close() };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
