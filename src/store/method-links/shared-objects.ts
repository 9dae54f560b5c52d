import { type EntityMetadata, Reference } from '@mikro-orm/core';
import { instanceKey } from '../../model/identifier.ts';
import { isInstance } from '../../query/rows/instance.ts';
import type { Watched } from './instance-effects.ts';

/** Lets objects refer to the same object for the same row, as in the identity map of MikroORM, so that code can compare them. */
export function shareObjects(objects: readonly Watched[]): void {
  const byRow = new Map(objects.map(({ instance, key, meta }) => [rowName(meta, key), instance]));
  for (const { instance } of objects) {
    for (const name of Object.keys(instance)) {
      const value = (instance as Record<string, unknown>)[name];
      if (typeof value !== 'object' || value === null) continue;
      const isWrapped = Reference.isReference(value);
      const referred = isWrapped ? (value.unwrap() as object) : value;
      if (!isInstance(referred)) continue;
      const { __meta: meta } = referred as { __meta?: EntityMetadata };
      const row = rowName(meta as EntityMetadata, instanceKey(meta as EntityMetadata, referred));
      const known = byRow.get(row);
      if (!known) byRow.set(row, referred);
      else if (known !== referred)
        (instance as Record<string, unknown>)[name] = isWrapped ? Reference.create(known as never) : known;
    }
  }
}

function rowName({ root }: EntityMetadata, key: unknown): string {
  return `${root.className} ${key}`;
}
