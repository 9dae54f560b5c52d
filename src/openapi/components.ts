import { isDeepStrictEqual } from 'node:util';
import type { JsonSchema } from './json-schema.ts';

/** A name that is taken for a schema, which may refer to itself. */
export interface Reserved {
  readonly ref: JsonSchema;
  define(schema: JsonSchema): void;
}

/** The named schemas of a document. */
export class Components {
  readonly #schemas = new Map<string, JsonSchema | null>();

  /** Keeps a schema under a name, or under the next free one where the name means something else already. What is alike is kept once. */
  add(name: string, schema: JsonSchema): JsonSchema {
    for (const candidate of numbered([name])) {
      const known = this.#schemas.get(candidate);
      if (known === undefined) this.#schemas.set(candidate, schema);
      if (known === undefined || isDeepStrictEqual(known, schema)) return reference(candidate);
    }
    throw new Error('there are no more names');
  }

  /** Takes the first of the names that is free, for a schema that is still to be made. */
  reserve(names: readonly string[]): Reserved {
    for (const candidate of numbered(names)) {
      if (this.#schemas.has(candidate)) continue;
      this.#schemas.set(candidate, null);
      return { ref: reference(candidate), define: (schema) => this.#schemas.set(candidate, schema) };
    }
    throw new Error('there are no more names');
  }

  /** By name, in alphabetical order, so that a document does not change when a declaration is moved. */
  schemas(): Record<string, JsonSchema> {
    const defined = [...this.#schemas].filter((entry): entry is [string, JsonSchema] => entry[1] !== null);
    return Object.fromEntries(defined.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

function reference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** The names themselves, then the last of them with a number. */
function* numbered(names: readonly string[]): Generator<string> {
  const plain = names.map((name) => name.replace(/[^A-Za-z0-9._-]/g, '_'));
  yield* plain;
  for (let number = 2; ; number++) yield `${plain.at(-1)}${number}`;
}
