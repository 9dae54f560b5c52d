import { createHmac } from 'node:crypto';

export const secret = 'a secret that nobody but this benchmark knows';

/** A token that is valid for a day. */
export function tokenWith(claims: Readonly<Record<string, unknown>>): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(Date.now() / 1000);
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub: '1', iat: now, exp: now + 86_400, ...claims })}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}
