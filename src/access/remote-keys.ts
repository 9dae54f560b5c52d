import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JSONWebKeySet,
  type JWSHeaderParameters,
  type JWTVerifyGetKey,
} from 'jose';
import { problem } from '../errors.ts';

/** Milliseconds. After `freshFor`, the set is fetched again in the background; after `knownFor`, requests wait for the fetch. */
const freshFor = 300_000;
const knownFor = 600_000;

/** Milliseconds between two fetches; `firstCooldown` applies until the first set was fetched. */
const cooldown = 30_000;
const firstCooldown = 5_000;

/** Milliseconds that a fetch may take, the most bytes of a set, and the most keys in it. */
const timeout = 5_000;
const mostBytes = 262_144;
const mostKeys = 100;

/** Requests that may wait for a fetch at once. More would take the places of callers with other credentials. */
const mostWaiting = 16;

/** Picks keys from a set at a URL. If it cannot be fetched, the last one is used for up to `maxStale` seconds. */
export function remoteKeys(
  address: URL,
  { maxStale, warn }: { readonly maxStale: number; readonly warn?: ((message: string) => void) | undefined },
): (...given: Parameters<JWTVerifyGetKey>) => Promise<CryptoKey> {
  const set = new RemoteKeys(address, maxStale * 1000, warn);
  return (header, token) => set.keyFor(header, token);
}

class RemoteKeys {
  readonly #address: URL;
  readonly #maxStale: number;
  readonly #warn: ((message: string) => void) | undefined;
  #pick: ReturnType<typeof createLocalJWKSet> | null = null;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  /** Why the last fetch failed; null if it did not. */
  #failure: { readonly cause: unknown } | null = null;
  #fetching: Promise<void> | null = null;
  #waiting = 0;

  constructor(address: URL, maxStale: number, warn: ((message: string) => void) | undefined) {
    this.#address = address;
    this.#maxStale = maxStale;
    this.#warn = warn;
  }

  async keyFor(header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey> {
    const age = performance.now() - this.#fetchedAt;
    if (age >= freshFor) this.#refresh();
    const known = await this.#find(header, token);
    // a key may have been withdrawn since the last fetch; if that failed, requests do not wait for the next one
    const isOutdated = age >= knownFor && this.#failure === null;
    if (known && !(isOutdated && this.#mayWait())) return known;
    this.#refresh();
    if (this.#fetching) {
      await this.#wait(this.#fetching);
      const found = await this.#find(header, token);
      if (found) return found;
    }
    if (this.#failure) throw unavailable(this.#failure.cause);
    throw new errors.JWKSNoMatchingKey();
  }

  /** The key that a token names; null if the set does not have it, or is missing or too old. */
  async #find(header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey | null> {
    const isUsable = performance.now() - this.#fetchedAt < knownFor + this.#maxStale;
    if (!this.#pick || !isUsable) return null;
    try {
      return await this.#pick(header, token);
    } catch (cause) {
      if (cause instanceof errors.JWKSNoMatchingKey) return null;
      if (cause instanceof errors.JWKSMultipleMatchingKeys) throw cause;
      // not the caller's fault: the key in the set is not valid
      throw unavailable(cause);
    }
  }

  #mayWait(): boolean {
    return this.#fetching !== null && this.#waiting < mostWaiting;
  }

  async #wait(fetching: Promise<void>): Promise<void> {
    if (!this.#mayWait()) throw unavailable('too many requests are waiting for the key set');
    this.#waiting++;
    try {
      await fetching;
    } finally {
      this.#waiting--;
    }
  }

  /** Starts a fetch, unless one is running or was tried recently, with or without success. */
  #refresh(): void {
    const now = performance.now();
    if (this.#fetching || now - this.#triedAt < (this.#pick ? cooldown : firstCooldown)) return;
    this.#triedAt = now;
    this.#fetching = this.#fetch().finally(() => {
      this.#fetching = null;
    });
  }

  async #fetch(): Promise<void> {
    try {
      this.#pick = createLocalJWKSet(await fetchKeySet(this.#address));
      this.#fetchedAt = performance.now();
      this.#failure = null;
    } catch (cause) {
      this.#failure = { cause };
      const known = this.#pick ? 'Declarest uses the keys of the last fetch' : 'no token can be verified';
      this.#warn?.(`the key set of security.jwt.jwks cannot be fetched, and ${known}: ${reasonOf(cause)}`);
    }
  }
}

function unavailable(cause: unknown) {
  return problem('authentication_unavailable', {}, { headers: { 'Retry-After': '5' }, cause });
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: unknown }; message?: unknown };
  return String(cause?.code ?? message ?? error);
}

async function fetchKeySet(address: URL): Promise<JSONWebKeySet> {
  const response = await fetch(address, {
    headers: { accept: 'application/jwk-set+json, application/json' },
    redirect: 'manual',
    signal: AbortSignal.timeout(timeout),
  });
  const set = JSON.parse(await textOf(response)) as JSONWebKeySet;
  if (Array.isArray(set?.keys) && set.keys.length > mostKeys) throw new Error(`it has more than ${mostKeys} keys`);
  return set;
}

/** Reads the body of a response; throws when it exceeds the limit. */
async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    if (response.status !== 200) throw new Error(`it returned status ${response.status}`);
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > mostBytes) throw new Error(`it has more than ${mostBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    // closes the connection; the stream is not locked any more, because leaving the loop releases it
    await response.body?.cancel().catch(() => undefined);
    throw error;
  }
  return Buffer.concat(chunks).toString();
}
