import type { InventoryForeignKey } from '../database/schema/inventory.ts';

/** Global names that a model must not hide, and names that its module imports. */
const reservedClasses = new Set(
  'Object Array String Number Boolean Date Function Symbol Promise Map Set Error Proxy Json Math Reflect Bigint Infinity InferEntity'
    .toLowerCase()
    .split(' '),
);

/** Properties that every object has, that MikroORM rejects, or whose presence changes how an object is treated. */
const reservedProperties = new Set([...Object.getOwnPropertyNames(Object.prototype), 'prototype', 'toJSON', 'then']);

/** `order_items`, `ORDER ITEMS` and `orderItems` → `OrderItems`. */
export function className(table: string): string {
  const name = wordsOf(table)
    .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
    .join('');
  if (!/^\p{L}/u.test(name)) return `Table${name}`;
  return reservedClasses.has(name.toLowerCase()) ? `${name}Model` : name;
}

/** `first_name`, `FIRST NAME` and `FirstName` → `firstName`. */
export function propertyName(column: string): string {
  const [first = '', ...rest] = wordsOf(column);
  const head = first.replace(/^\p{Lu}+(?=\p{Lu}\p{Ll}|\P{L}|$)|^\p{Lu}/u, (letters) => letters.toLowerCase());
  const name = head + rest.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`).join('');
  if (!/^\p{L}/u.test(name)) return `column${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  return reservedProperties.has(name) ? `${name}Value` : name;
}

/** The property of a foreign key: `author_id` → `author`. */
export function associationName(column: string, targetKey: string): string {
  const suffix = column.toLowerCase().endsWith(`_${targetKey.toLowerCase()}`) ? targetKey.length + 1 : 0;
  const short = suffix > 0 ? column.slice(0, -suffix) : column.replace(/(?:[_ -]id|(?<=[a-z])I[dD])$/i, '');
  return propertyName(short === '' ? column : short);
}

/** The names of a foreign key, best first. One of several columns has what their names begin with, or the name of its table. */
export function associationNames({
  columns,
  target,
  targetColumns,
}: Pick<InventoryForeignKey, 'columns' | 'target' | 'targetColumns'>): string[] {
  const [first = '', ...others] = columns;
  if (others.length === 0) return [associationName(first, targetColumns[0] as string), propertyName(first)];
  const words = first.split('_');
  const shared = words.filter((_, i) => others.every((other) => other.startsWith(`${words.slice(0, i + 1).join('_')}_`)));
  return [...(shared.length > 0 ? [propertyName(shared.join('_'))] : []), propertyName(target.name)];
}

/** `actor` → `actors`; a name that ends in s stays. */
export function plural(name: string): string {
  return name.endsWith('s') ? name : `${name}s`;
}

/** `OrderItems` → `order-items`. */
export function fileName(name: string): string {
  return name.replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1-$2').toLowerCase();
}

/** `OrderItems` → `order-items`, with the letters that names and paths of APIs may have. */
export function pathName(name: string): string {
  const plain = fileName(name)
    .replaceAll('ß', 'ss')
    .replace(/[^a-z0-9-]/g, '');
  return plain.replace(/^-+|-+$/g, '') || 'model';
}

/** Gives a name that is not taken yet, ignoring case, and takes it. */
export function takeName(wanted: readonly string[], taken: Set<string>): string {
  const last = wanted.at(-1) as string;
  for (let number = 2; ; number++) {
    const free = (number === 2 ? [...wanted, `${last}2`] : [`${last}${number}`]).find((name) => !taken.has(name.toLowerCase()));
    if (free === undefined) continue;
    taken.add(free.toLowerCase());
    return free;
  }
}

function wordsOf(name: string): string[] {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '');
  const cased = /\p{Ll}/u.test(plain) ? plain : plain.toLowerCase();
  return cased.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
}

/** The reason why a name cannot be used; null if it can. MikroORM does not quote every character, and loses `__proto__`. */
export function troubleIn(name: string): string | null {
  if (name === '__proto__') return 'its name is __proto__';
  const found = /[."`?\\\p{Cc}]/u.exec(name)?.[0];
  return found === undefined ? null : `its name contains ${/\p{Cc}/u.test(found) ? 'a control character' : found}`;
}
