// The seed of random tests. It is a hash of the sources: changed sources are tested with new cases, and the same sources get the
// same result twice. `TEST_SEED` sets another seed, such as that of a failure.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { type DatabaseKind, databaseKinds } from './selected-databases.ts';

export const seedVariable = 'TEST_SEED';

export function seedOfSources(): number {
  const hash = createHash('sha256');
  const folder = join(import.meta.dirname, '..', '..', 'src');
  for (const file of globSync('**/*.ts', { cwd: folder }).sort()) hash.update(file).update(readFileSync(join(folder, file)));
  return hash.digest().readUInt32BE() >>> 1;
}

export const seed = Number(process.env[seedVariable] ?? seedOfSources());

fc.configureGlobal({ seed });

/** `FC_PATH` goes straight to the case of a failure. */
export const replay = process.env.FC_PATH ? { path: process.env.FC_PATH } : {};

/** Random cases for `fc.assert` in a suite of one database. Each database gets other cases. Use `FC_PATH` with the seed of the failure. */
export function casesOn(database: DatabaseKind): { readonly seed: number; readonly path?: string } {
  return process.env.FC_PATH ? { seed, ...replay } : { seed: seed + databaseKinds.indexOf(database) };
}

/** The numbers of the random cases in a suite of one database. Each database gets other numbers. */
export function numbersOn(database: DatabaseKind, count: number): number[] {
  return Array.from({ length: count }, (_, i) => i * databaseKinds.length + databaseKinds.indexOf(database));
}

/** One of `parts` equal parts of a table. The seed decides which part has which cases. `TEST_ALL=1` gives each part all of them. */
export function partOf<Case>(cases: readonly Case[], parts: number, part = 0): readonly Case[] {
  // the lowest bit of the seed divides tests between databases; with the same bit here, a case would always get the same database
  const turn = Math.floor(seed / 2);
  return process.env.TEST_ALL ? cases : cases.filter((_, index) => (index + part + turn) % parts === 0);
}

/** Mulberry32: the same seed gives the same numbers. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  of<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  some<Item>(items: readonly Item[]): Item[] {
    return items.filter(() => this.chance(0.5));
  }
}

/** Every order of some places. */
export function permutations(places: readonly number[]): number[][] {
  if (places.length <= 1) return [[...places]];
  return places.flatMap((place) => permutations(places.filter((other) => other !== place)).map((rest) => [place, ...rest]));
}
