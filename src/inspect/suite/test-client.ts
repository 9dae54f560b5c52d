import { jwtSecret } from '../../access/jwt-keys.ts';
import { signToken } from '../../access/sign-token.ts';
import type { Application } from '../../application.ts';
import { parsedJson } from '../json.ts';
import { exchange } from './http-exchange.ts';

/** A request of a test. */
export interface TestRequest {
  /** Sent as a JSON body. */
  readonly json?: unknown;
  /** Sent unchanged. */
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Calls as this user, with a token that the application accepts. */
  readonly as?: TestUser;
}

export interface TestUser {
  readonly id: string | number;
  readonly roles?: readonly string[];
  readonly [claim: string]: unknown;
}

/** The response to a request of a test. */
export interface TestResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects by asserting it
  readonly json: any;
}

/** A token for a user, signed as the application expects it. */
export async function tokenFor(application: Application, { id, roles = [], ...claims }: TestUser): Promise<string> {
  const { directory, production, declaration } = application;
  if (!declaration.security.jwt) throw new Error('the application does not accept tokens: declare security.jwt');
  const secret = await jwtSecret(declaration.security.jwt, { directory, production });
  return signToken({ secret, declaration: declaration.security.jwt, sub: String(id), roles, claims });
}

export async function sendRequest(
  application: Application,
  url: string,
  method: string,
  { json, body, headers = {}, as }: TestRequest = {},
): Promise<TestResponse> {
  const sent = {
    ...(json !== undefined && { 'content-type': 'application/json' }),
    ...(as && { authorization: `Bearer ${await tokenFor(application, as)}` }),
    ...headers,
  };
  const response = await exchange(new URL(url), method, sent, json !== undefined ? JSON.stringify(json) : (body ?? null));
  return { ...response, json: parsedJson(response.text) };
}
