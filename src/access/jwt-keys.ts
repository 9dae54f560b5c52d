import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type CryptoKey, createLocalJWKSet, errors, importJWK, type JWK, type JWTVerifyGetKey } from 'jose';
import { plainAddress } from '../declaration/read/read-security.ts';
import { asymmetric, symmetric } from '../declaration/schema/settings-schema.ts';
import type { JwtDeclaration } from '../declaration/types.ts';
import { developmentKey } from './development-key.ts';
import { remoteKeys } from './remote-keys.ts';

/** The keys for signature checks: one secret, or a function that picks the public key that a token names. */
export type JwtKeys = CryptoKey | JWTVerifyGetKey;

export interface Surroundings {
  readonly directory: string;
  readonly production: boolean;
  /** Called if a key set cannot be fetched. */
  readonly warn?: ((message: string) => void) | undefined;
}

const keySetAlgorithms = [...asymmetric, 'Ed25519'];

const shortestSecret = 32;

/** Loads the declared keys, and rejects keys that are not safe with the declared algorithm. */
export async function loadJwtKeys(declaration: JwtDeclaration, surroundings: Surroundings): Promise<JwtKeys> {
  const { algorithm, jwks } = declaration;
  if (jwks === null) return importSecret(await jwtSecret(declaration, surroundings), algorithm);
  if (declaration.secret !== null) {
    throw new Error('security.jwt has both "secret" and "jwks"; remove one of them');
  }
  // A public key must never serve as a secret: anybody who can read it could sign.
  if (!keySetAlgorithms.includes(algorithm)) {
    throw new Error(
      `security.jwt.algorithm is "${algorithm}", which does not work with "jwks"; set it to the algorithm of the keys: ${keySetAlgorithms.join(', ')}`,
    );
  }
  if (typeof jwks !== 'string') return localKeys(jwks, algorithm, 'security.jwt.jwks');
  if (/^https?:/i.test(jwks)) {
    const address = new URL(jwks);
    if (surroundings.production && address.protocol !== 'https:') throw new Error(`security.jwt.jwks: ${plainAddress}`);
    return strongKeys(remoteKeys(address, { maxStale: declaration.jwksMaxStale, warn: surroundings.warn }));
  }
  return localKeys(await readKeySet(resolve(surroundings.directory, jwks)), algorithm, jwks);
}

/** The secret that signs and verifies tokens: the declared one, or outside production the development key. */
export async function jwtSecret(declaration: JwtDeclaration, { directory, production }: Surroundings): Promise<string> {
  const { algorithm, jwks, secret } = declaration;
  if (jwks !== null) {
    throw new Error(
      'security.jwt.jwks has public keys only, which cannot sign tokens; get a token from the issuer that has the private keys',
    );
  }
  if (!symmetric.includes(algorithm)) {
    throw new Error(
      `security.jwt.algorithm is "${algorithm}", which does not work with a secret; use one of ${symmetric.join(', ')}, or a jwks`,
    );
  }
  if (secret === null) {
    if (production) throw new Error('security.jwt needs a secret or a jwks in production; the development key is not used there');
    return developmentKey(directory);
  }
  if (secret.length < shortestSecret) {
    throw new Error(`security.jwt.secret must have ${shortestSecret} characters or more; it has ${secret.length}`);
  }
  return secret;
}

/** Imported once; with the bare secret, jose would import it again for every token. */
function importSecret(secret: string, algorithm: string): Promise<CryptoKey> {
  const parameters = { name: 'HMAC', hash: `SHA-${algorithm.slice(2)}` };
  return crypto.subtle.importKey('raw', new TextEncoder().encode(secret), parameters, false, ['verify']);
}

async function readKeySet(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Error(`the key set ${file} of security.jwt.jwks cannot be read; write a path relative to the application`, {
      cause,
    });
  });
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`the key set ${file} of security.jwt.jwks is not JSON; it must be { "keys": [ … ] }`, { cause });
  }
}

/** Imports every key at startup, so that an unusable key is reported then and not with the first token. */
async function localKeys(keySet: unknown, algorithm: string, place: string): Promise<JWTVerifyGetKey> {
  const keys = (keySet as { readonly keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys) || keys.length === 0) {
    throw new Error(`${place} must be a key set with at least one key: { "keys": [ … ] }`);
  }
  const pick = createLocalJWKSet({ keys: keys.map((key: unknown, index) => publicKey(key, `${place}, keys[${index}],`)) });
  let isUsable = false;
  for (const [index, key] of (keys as JWK[]).entries()) {
    if (!fits(key, algorithm)) continue;
    const imported = await importJWK(key, algorithm).catch((cause: unknown) => {
      throw new Error(`${place}, keys[${index}], is not a valid key for ${algorithm}`, { cause });
    });
    const bits = bitsOf(imported as CryptoKey);
    if (bits < leastBits) {
      throw new Error(`${place}, keys[${index}], has ${bits} bits; an RSA key must have ${leastBits} or more`);
    }
    isUsable = true;
  }
  if (!isUsable) throw new Error(`${place} has no key for ${algorithm}, the algorithm in security.jwt.algorithm`);
  return pick;
}

/** Bits of an RSA key; weaker keys can be broken. */
const leastBits = 2048;

function bitsOf({ algorithm }: CryptoKey): number {
  return (algorithm as { modulusLength?: number }).modulusLength ?? Number.POSITIVE_INFINITY;
}

function publicKey(key: unknown, place: string): JWK {
  if (typeof key !== 'object' || key === null) throw new Error(`${place} must be a JSON Web Key, an object`);
  if ('d' in key || 'k' in key) throw new Error(`${place} is a private or secret key; list public keys only`);
  return key as JWK;
}

const curves: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' };

/** Whether a key is for the algorithm, and not marked for another algorithm or use. */
function fits({ kty, crv, alg, use }: JWK, algorithm: string): boolean {
  if ((alg !== undefined && alg !== algorithm) || (use !== undefined && use !== 'sig')) return false;
  if (algorithm.startsWith('RS') || algorithm.startsWith('PS')) return kty === 'RSA';
  if (algorithm.startsWith('ES')) return kty === 'EC' && crv === curves[algorithm];
  return kty === 'OKP' && crv === 'Ed25519';
}

/** The keys of a set at a URL, without those that are too weak. */
function strongKeys(pick: ReturnType<typeof remoteKeys>): JWTVerifyGetKey {
  return async (header, token) => {
    const key = await pick(header, token);
    if (bitsOf(key) < leastBits) throw new errors.JWKSNoMatchingKey();
    return key;
  };
}
