import { isObject } from '../../change/body-reader.ts';
import type { WritePlan } from '../../change/write-plan.ts';
import type { Identifier } from '../../model/identifier.ts';

/** The key of an item; `undefined` if no row can have it, and null if the item has none. */
type ItemKey = { readonly key: Identifier | undefined } | null;

/**
 * Reads the key of an item of a list. A composite key is its `id`, in any form that references accept, or its parts beside the
 * other fields.
 */
export function itemKeyReader({ fields, idKey, keyParts, parseId }: WritePlan): (item: Record<string, unknown>) => ItemKey {
  const isPart = keyParts.some(({ name }) => name === 'id');
  // a field of this name that is not the key belongs to the row
  const isField = isPart || fields.get('id')?.metadata.primary === false;
  if (keyParts.length === 0) {
    const names = isField ? [idKey] : ['id', idKey];
    return (item) => {
      const name = names.find((each) => Object.hasOwn(item, each));
      const id = name === undefined ? undefined : item[name];
      return typeof id === 'string' || typeof id === 'number' ? { key: parseId(id) } : null;
    };
  }
  return (item) => {
    if (!isField && Object.hasOwn(item, 'id')) {
      const { id } = item;
      return typeof id === 'string' || Array.isArray(id) || isObject(id) ? { key: parseId(id) } : null;
    }
    const parts = keyParts.map(({ name }) => [name, Object.hasOwn(item, name) ? item[name] : null] as const);
    return parts.some(([, part]) => part === null) ? null : { key: parseId(Object.fromEntries(parts)) };
  };
}

/** The names of the fields that have the key of an item. */
export function keyNamesOf({ keyParts }: WritePlan): string {
  return keyParts.length === 0 ? '"id"' : `"id" or ${keyParts.map(({ name }) => `"${name}"`).join(' and ')}`;
}
