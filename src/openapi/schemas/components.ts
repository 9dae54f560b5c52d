import { isDeepStrictEqual } from 'node:util';
import type { EntityMetadata } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import type { JsonSchema } from '../json-schema.ts';

/** The context of every model schema. */
export interface SchemaContext {
  readonly mapper: Mapper;
  readonly components: Components;
  /** Whether rows of a class can be hidden from callers, so that a to-one association can lack its row. */
  readonly hides: (meta: EntityMetadata) => boolean;
  /** The description of a property, or of the model itself. */
  readonly describe: (meta: EntityMetadata, property?: string) => string | undefined;
  readonly denormalizes: (meta: EntityMetadata, property: string) => boolean;
}

/** The named schemas of a document. */
export class Components {
  readonly #schemas = new Map<string, JsonSchema | null>();

  /** Adds a schema under the first free name, or under the last one with a number. Equal schemas are added once. */
  add(names: string | readonly string[], schema: JsonSchema): JsonSchema {
    const found = this.#nameFrom([names].flat(), (known) => known === undefined || isDeepStrictEqual(known, schema));
    this.#schemas.set(found, schema);
    return reference(found);
  }

  /** Reserves the first free name for a schema that is defined later, because it may refer to itself. */
  reserve(names: readonly string[]) {
    const found = this.#nameFrom(names, (known) => known === undefined);
    this.#schemas.set(found, null);
    return { ref: reference(found), define: (schema: JsonSchema) => this.#schemas.set(found, schema) };
  }

  /** The first name that fits, or the last name with a number. */
  #nameFrom(names: readonly string[], fits: (known: JsonSchema | null | undefined) => boolean): string {
    const candidates = names.map((name) => name.replace(/[^A-Za-z0-9._-]/g, '_'));
    const last = candidates.at(-1);
    for (let number = 2; ; number++) {
      const found = candidates.find((candidate) => fits(this.#schemas.get(candidate)));
      if (found !== undefined) return found;
      candidates.push(`${last}${number}`);
    }
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
