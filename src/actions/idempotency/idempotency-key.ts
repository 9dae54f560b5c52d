import { createHash } from 'node:crypto';
import { identityOf } from '../../access/identity.ts';
import type { ApiRequest, User } from '../../access/user.ts';
import { problem } from '../../errors.ts';
import { targetOf } from '../../response/request-target.ts';

/** A request with an `Idempotency-Key`: under what its answer is kept, and what tells it from another request with the same key. */
export interface KeyedRequest {
  readonly id: string;
  /** Who sent it, as a hash. */
  readonly caller: string;
  readonly fingerprint: string;
}

/**
 * Reads the key of a request. Keys are the caller's own: no user comes by what was answered to another. Callers without a user
 * share theirs, and so come by an answer only with the key and the very request that it was the answer to.
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
/** A string as structured fields have it (RFC 9651), which the draft of the IETF asks for. */
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

/** Neither names nor keys nor bodies are kept, and nothing is too long. */
function hash(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

/** The same value with the keys of its objects in order, as programs that send it again may have them in another. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // a list of pairs and not an object, in which names that are numbers would come first again
  return { entries: entries.map(([name, each]) => [name, sorted(each)]) };
}
