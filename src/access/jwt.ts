import type { FastifyRequest } from 'fastify';
import { errors, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from 'jose';
import { deepFreeze } from '../declaration/plain-object.ts';
import type { JwtDeclaration } from '../declaration/types.ts';
import { Authenticator, kindOfUsers } from './authenticator.ts';
import { bearerChallenge, invalidCredentials, singleHeader } from './credentials.ts';
import type { JwtKeys } from './jwt-keys.ts';
import { TokenCache } from './token-cache.ts';
import type { User } from './user.ts';

const wrongToken = `${bearerChallenge}, error="invalid_token"`;

/** Characters. Node itself accepts 16 KiB of headers; longer tokens are rejected without a signature check. */
const longestToken = 8192;

const rememberedTokens = 4096;

/**
 * Accepts `Authorization: Bearer <JWT>`. The clock tolerance is zero: a token is valid from the second of `nbf` until just
 * before that of `exp`.
 */
export class JwtAuthenticator extends Authenticator {
  readonly #options: JWTVerifyOptions;
  readonly #keys: JwtKeys;
  readonly #memory = new TokenCache(rememberedTokens);

  constructor({ algorithm, issuer, audience }: Pick<JwtDeclaration, 'algorithm' | 'issuer' | 'audience'>, keys: JwtKeys) {
    super();
    this.#keys = keys;
    this.#options = {
      algorithms: [algorithm],
      requiredClaims: ['sub', 'exp'],
      clockTolerance: 0,
      ...(issuer === null ? {} : { issuer }),
      ...(audience === null ? {} : { audience }),
    };
  }

  override get [kindOfUsers](): string {
    return 'token';
  }

  override authenticate(request: FastifyRequest): User | null | Promise<User> {
    const header = singleHeader(request, 'authorization', wrongToken);
    if (header === undefined || !/^bearer(?=\s|$)/i.test(header)) return null;
    const token = tokenOf(header);
    return this.#memory.recall(token, seconds()) ?? this.#verify(token);
  }

  async #verify(token: string): Promise<User> {
    const { payload, protectedHeader } = await this.#checkSignature(token);
    // No extension is supported here; jose would accept `b64`.
    if (protectedHeader.crit !== undefined) throw refused('the token uses an extension (crit) that is not supported');
    const user = toUser(payload);
    // jose has checked that `exp` is there, and that `exp` and `nbf` are numbers.
    const expires = payload.exp as number;
    if (!Number.isFinite(expires)) throw refused('the claim "exp" is not accepted');
    this.#memory.remember(token, { user, expires, notBefore: payload.nbf ?? 0 }, seconds());
    return user;
  }

  async #checkSignature(token: string) {
    try {
      // jose accepts a key or a function, but its overloads do not accept the union of both
      return await jwtVerify(token, this.#keys as JWTVerifyGetKey, this.#options);
    } catch (error) {
      if (error instanceof errors.JOSEError) throw refused(reasonOf(error), error);
      throw error;
    }
  }
}

function seconds(): number {
  return Math.floor(Date.now() / 1000);
}

function refused(reason: string, cause?: unknown) {
  return invalidCredentials(reason, wrongToken, cause);
}

function tokenOf(header: string): string {
  if (header.length > longestToken) throw refused(`the token is longer than ${longestToken} characters`);
  const token = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(header)?.[1];
  if (token === undefined) throw refused('the Authorization header must be "Bearer", a space and a signed token');
  return token;
}

/** The claims as a user: `sub` is the id, `roles` the roles, every other claim is carried over under its name. */
function toUser({ sub, roles = [], ...claims }: JWTPayload): User {
  if (typeof sub !== 'string' || sub === '') throw refused('the claim "sub" must be a string that is not empty');
  if (!Array.isArray(roles) || !roles.every((role) => typeof role === 'string')) {
    throw refused('the claim "roles" must be a list of strings');
  }
  // A claim `__proto__` would be an own property here, and would set the prototype of a copy made by assignment.
  const carried = Object.entries(claims).filter(([name]) => name !== '__proto__');
  // frozen, because all requests with the same cached token share this user
  return deepFreeze({ ...Object.fromEntries(carried), id: sub, roles });
}

function reasonOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'the token has expired';
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'nbf' && error.reason === 'check_failed') return 'the token is not valid yet';
    return `the claim "${error.claim}" is ${error.reason === 'missing' ? 'missing' : 'not accepted'}`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return 'the token is signed with an algorithm that is not accepted';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'the signature is invalid';
  if (error instanceof errors.JWKSNoMatchingKey) return 'the token is signed with an unknown key';
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'the token has no key id (kid), so its key is ambiguous';
  return 'the token is malformed';
}
