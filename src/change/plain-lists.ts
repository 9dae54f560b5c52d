import type { EntityMetadata } from '@mikro-orm/core';
import type { Identifier, IdentifierParser } from '../model/identifier.ts';
import type { Pivot } from '../query/rows/association.ts';
import type { WriteMode } from './body-reader.ts';
import { readReference } from './plain-fields.ts';

/** A to-many association whose links statements can replace: it has a plain pivot table, and every caller sees its items. */
export interface PlainList {
  /** In bodies. */
  readonly name: string;
  /** The caller lacks a role to see it: PUT of a body without it must not change it. */
  readonly unseen: boolean;
  readonly target: EntityMetadata;
  readonly pivot: Pivot;
  readonly parseId: IdentifierParser;
}

/** The items that an association has after the change, each once. */
export interface ListedItems {
  readonly list: PlainList;
  readonly keys: readonly Identifier[];
}

/**
 * Finds the lists of a body that consist of plain references; with PUT, those that it does not have are empty. The other fields are
 * the `rest`. Null: there is none, or another one.
 */
export function readLists(
  body: unknown,
  lists: ReadonlyMap<string, PlainList>,
  mode: WriteMode,
): { readonly items: readonly ListedItems[]; readonly rest: object } | null {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return null;
  const items: ListedItems[] = [];
  const rest: [string, unknown][] = [];
  for (const [name, json] of Object.entries(body)) {
    const list = lists.get(name);
    if (!list) {
      rest.push([name, json]);
      continue;
    }
    if (!Array.isArray(json)) return null;
    const keys = new Map<string, Identifier>();
    for (const item of json) {
      const key = readReference(item, list.target, list.parseId);
      if (key === undefined) return null;
      keys.set(String(key), key);
    }
    items.push({ list, keys: [...keys.values()] });
  }
  const absent = [...lists.values()].filter((list) => !list.unseen && !Object.hasOwn(body, list.name));
  if (mode === 'replace') for (const list of absent) items.push({ list, keys: [] });
  return items.length === 0 ? null : { items, rest: Object.fromEntries(rest) };
}
