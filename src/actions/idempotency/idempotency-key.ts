import { createHash } from 'node:crypto';
import { identityOf } from '../../access/identity.ts';
import type { ApiRequest, User } from '../../access/user.ts';
import { problem } from '../../errors.ts';
import { targetOf } from '../../response/request-target.ts';

/** A request with an `Idempotency-Key`. Its response is stored under `id`; `fingerprint` detects other requests with this key. */
export interface KeyedRequest {
  readonly id: string;
  /** The caller, as a hash. */
  readonly caller: string;
  readonly fingerprint: string;
}

/**
 * Reads the key of a request. Each user has separate keys, so that no user gets a response to another user. Callers without
 * a user share their keys: they get a stored response only with the key and the same request.
 */
export function keyedRequest(request: ApiRequest, user: User | null): KeyedRequest {
  const caller = user ? identityOf(user) : 'anyone';
  const { path, query } = targetOf(request.url);
  return {
    id: hash([caller, readKey(request)]),
    caller: hash([caller]),
    fingerprint: hash([request.method, path, query, sorted(request.body)]),
  };
}

const plainKey = /^[\x20-\x7e]{1,255}$/;
/** A string as in structured fields (RFC 9651), which the IETF draft requires. */
const quotedKey = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])+)"$/;

function readKey({ headers, raw }: ApiRequest): string {
  const given = String(headers['idempotency-key']);
  const names = raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'idempotency-key');
  if (names.length > 1) throw problem('invalid_idempotency_key', { expected: 'must be sent once' });
  const key = given.startsWith('"') ? quotedKey.exec(given)?.[1]?.replace(/\\(.)/g, '$1') : given;
  if (key !== undefined && plainKey.test(key)) return key;
  throw problem('invalid_idempotency_key', {
    expected: 'must be 1 to 255 printable ASCII characters, optionally as a quoted string',
  });
}

/** Hashed, so that no names, keys or bodies are stored, and no value is too long. */
function hash(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

/** The same value with sorted object keys, because clients may repeat a request with another order of keys. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // a list of pairs, because numeric names would come first again in an object
  return { entries: entries.map(([name, each]) => [name, sorted(each)]) };
}
