import { hash } from 'node:crypto';

/** Bytes that are hashed here; longer texts are left to the platform, which is quicker from there on. */
const most = 65_536;
const bytes = new Uint8Array(most + 4);
const words = new Int32Array(bytes.buffer);
const encoder = new TextEncoder();

/** Two numbers of 32 bits that nobody else knows. */
export type HashKey = readonly [number, number];

/** A key for one use of a secret. */
export function hashKeyOf(secret: string, use: string): HashKey {
  const made = Buffer.from(hash('sha256', `${use}\n${secret}`, 'hex'), 'hex');
  return [made.readInt32LE(0), made.readInt32LE(4)];
}

/**
 * 64 bits of a text, in hexadecimal digits, which nobody can find out, or find another text for, without the key: HalfSipHash-1-3.
 *
 * A call of `crypto.hash()` takes longer than everything else that is done for a small answer: see decision 0019.
 */
export function keyedHash(text: string, [first, second]: HashKey): string {
  if (text.length * 3 > most) return hash('sha256', `${first}\n${second}\n${text}`, 'hex').slice(0, 16);
  const { written: length } = encoder.encodeInto(text, bytes);
  bytes[length] = bytes[length + 1] = bytes[length + 2] = 0;
  const last = length >> 2;
  // told to be integers of 32 bits, so that all that is done with them is
  let v0 = first | 0;
  let v1 = second ^ 0xee;
  let v2 = 0x6c796765 ^ first;
  let v3 = 0x74656462 ^ second;
  for (let i = 0; i < last; i++) {
    const word = (words[i] as number) | 0;
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  // the rest of the text with its length, and then rounds without a word: the same, but that something is done between them
  let word = ((words[last] as number) & 0xffffff) | (length << 24);
  let high = 0;
  for (let round = 0; round < 7; round++) {
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
    word = 0;
    if (round === 0) v2 ^= 0xee;
    if (round === 3) {
      high = v1 ^ v3;
      v1 ^= 0xdd;
    }
  }
  return digits(high) + digits(v1 ^ v3);
}

function digits(number: number): string {
  return (number >>> 0).toString(16).padStart(8, '0');
}
