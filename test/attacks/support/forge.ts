import { createHmac, createSign, type KeyObject } from 'node:crypto';

const encoded = (part: unknown) => Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');

/** A token of any header and payload, signed by hand. A text is taken as it is, JSON or not. */
export function forge(header: unknown, payload: unknown, sign: (text: string) => string): string {
  const text = `${encoded(header)}.${encoded(payload)}`;
  return `${text}.${sign(text)}`;
}

export const hmac =
  (secret: string | Buffer, hash = 'sha256') =>
  (text: string): string =>
    createHmac(hash, secret).update(text).digest('base64url');

export const rsa =
  (key: KeyObject, hash = 'sha256') =>
  (text: string): string =>
    createSign(hash).update(text).sign(key).toString('base64url');
