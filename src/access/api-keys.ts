import { hash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { ApiKeyDeclaration } from '../declaration/types.ts';
import { Authenticator, kindOfUsers, readHeaders } from './authenticator.ts';
import { invalidCredentials, singleHeader } from './credentials.ts';
import type { User } from './user.ts';

const apiKeyChallenge = 'ApiKey header="X-Api-Key"';

/** Accepts the declared keys in `X-Api-Key: <key>` or `Authorization: ApiKey <key>`; the user's id is the key's name. */
export class ApiKeyAuthenticator extends Authenticator {
  readonly #keys: readonly { readonly digest: Buffer; readonly user: User }[];

  constructor(declarations: readonly ApiKeyDeclaration[]) {
    super();
    this.#keys = declarations.map((declaration) => ({
      digest: digestOf(declaration),
      user: Object.freeze({ id: declaration.name, roles: Object.freeze([...declaration.roles]) }),
    }));
    for (const [index, { digest, user }] of this.#keys.entries()) {
      const twin = this.#keys.slice(0, index).find((earlier) => earlier.digest.equals(digest));
      if (twin !== undefined) throw new Error(`the API keys "${twin.user.id}" and "${user.id}" are the same; give each its own`);
    }
  }

  override challenge(): string {
    return apiKeyChallenge;
  }

  override get [kindOfUsers](): string {
    return 'api key';
  }

  override get [readHeaders](): readonly string[] {
    return ['X-Api-Key'];
  }

  override authenticate(request: FastifyRequest): User | null {
    const own = singleHeader(request, 'x-api-key', apiKeyChallenge);
    const authorization = singleHeader(request, 'authorization', apiKeyChallenge);
    const other = /^apikey(?:\s+|$)(.*)/is.exec(String(authorization))?.[1];
    if (own !== undefined && other !== undefined) throw invalidCredentials('two API keys were sent; send one', apiKeyChallenge);
    const key = own ?? other;
    if (key === undefined) return null;
    const user = this.#find(key);
    if (user === null) throw invalidCredentials('unknown API key', apiKeyChallenge);
    return user;
  }

  /** Always compares with every key, so that the duration does not reveal which key came close. */
  #find(key: string): User | null {
    const digest = hash('sha256', key, 'buffer');
    let found: User | null = null;
    for (const candidate of this.#keys) found = timingSafeEqual(digest, candidate.digest) ? candidate.user : found;
    return found;
  }
}

function digestOf({ name, key }: ApiKeyDeclaration): Buffer {
  if (key.startsWith('sha256:')) {
    const hex = key.slice('sha256:'.length);
    if (!/^[0-9a-f]{64}$/i.test(hex)) {
      throw new Error(`the API key "${name}" must have 64 hexadecimal digits after "sha256:", the SHA-256 of the key`);
    }
    return Buffer.from(hex, 'hex');
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new Error(
      `the API key "${name}" must contain only printable ASCII characters without spaces, because it is sent in a header`,
    );
  }
  return hash('sha256', key, 'buffer');
}
