import { isObject } from '../../change/body-reader.ts';
import type { WritePlan } from '../../change/write-plan.ts';
import type { Identifier } from '../../model/identifier.ts';

/** The key of an item; `undefined` if no row can have it, and null if the item has none. */
type ItemKey = { readonly key: Identifier | undefined } | null;

/**
 * Reads the key of an item of a list. A composite key is its `id`, in any form that references accept, or its parts beside the
 * other fields.
 */
export function itemKeyReader(plan: WritePlan): (item: Record<string, unknown>) => ItemKey {
  const { idKey, keyParts, parseId } = plan;
  const isField = hasOwnId(plan);
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

/** Whether `id` is a part of the key, or a field of the row that is not the key. */
function hasOwnId({ fields, keyParts }: WritePlan): boolean {
  return keyParts.some(({ name }) => name === 'id') || fields.get('id')?.metadata.primary === false;
}

/** The names of the fields that have the key of an item. */
export function keyNamesOf(plan: WritePlan): string {
  const parts = plan.keyParts.map(({ name }) => `"${name}"`).join(' and ');
  if (parts === '') return '"id"';
  return hasOwnId(plan) ? parts : `"id" or ${parts}`;
}
