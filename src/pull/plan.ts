import type { TableName } from '../database/schema/catalogue.ts';
import type {
  Inventory,
  InventoryColumn,
  InventoryForeignKey,
  InventoryTable,
  PropertyMapping,
} from '../database/schema/inventory.ts';
import { associationName, associationNames, className, fileName, plural, propertyName, takeName, troubleIn } from './names.ts';
import { keyOf, labelOf } from './table-key.ts';

/** A model that the application has already. */
export interface ExistingModel extends TableName {
  readonly className: string;
  /** The name under which its module exports it. */
  readonly exportName: string;
  /** Relative to the application. */
  readonly file: string;
}

/** A model for a table. */
export interface PlannedModel {
  readonly className: string;
  readonly exportName: string;
  readonly file: string;
  readonly table: InventoryTable;
  readonly properties: readonly PlannedProperty[];
  /** Columns without a property, with the reason. */
  readonly ignored: readonly { readonly column: InventoryColumn; readonly reason: string }[];
  /** Foreign keys that are not associations, with the reason. */
  readonly plainKeys: readonly { readonly key: InventoryForeignKey; readonly reason: string }[];
  /** Why no API can serve it; null if one can. */
  readonly withoutApi: string | null;
}

export type PlannedProperty = ColumnProperty | Association | JoinTable;

export interface ColumnProperty {
  readonly kind: 'column';
  readonly name: string;
  readonly column: InventoryColumn;
  readonly mapping: PropertyMapping;
  /** Foreign keys that are not associations, each with the reason. */
  readonly notes: readonly string[];
}

export interface Association {
  readonly kind: 'association';
  readonly name: string;
  /** In the order of the key that they refer to. */
  readonly columns: readonly InventoryColumn[];
  /** Those of them that belong to no other property. */
  readonly own: readonly InventoryColumn[];
  readonly key: InventoryForeignKey;
  readonly target: Target;
}

/** A many-to-many association. */
export interface JoinTable {
  readonly kind: 'join table';
  readonly name: string;
  readonly table: InventoryTable;
  readonly own: InventoryForeignKey;
  readonly other: InventoryForeignKey;
  readonly target: Target;
}

export type Target = Pick<ExistingModel, 'className' | 'exportName' | 'file'>;

export interface Plan {
  readonly models: readonly PlannedModel[];
  readonly skipped: readonly { readonly subject: string; readonly reason: string }[];
  /** Join tables between models that the application has already. */
  readonly unmapped: readonly { readonly model: ExistingModel; readonly property: JoinTable }[];
}

export interface PlanOptions {
  readonly inventory: Inventory;
  readonly existing: readonly ExistingModel[];
  /** Tables that the models of the application use, pivot tables included. */
  readonly isKnown: (table: TableName) => boolean;
  readonly isWanted: (table: TableName) => boolean;
  /** Whether a file of the application exists. */
  readonly exists: (file: string) => boolean;
  /** Whether a column can hold every value of another. */
  readonly fits: (wanted: InventoryColumn, found: InventoryColumn) => boolean;
}

type Reading = Pick<PlanOptions, 'inventory' | 'fits'>;

/** Decides which models, properties and associations the tables of a database become. */
export function planModels(options: PlanOptions): Plan {
  const { exists, existing, inventory, isKnown, isWanted } = options;
  const skipped = inventory.skipped.filter(isWanted).map((one) => ({ subject: labelOf(one), reason: one.reason }));
  const usable: InventoryTable[] = [];
  for (const table of inventory.tables.filter((one) => isWanted(one) && !isKnown(one))) {
    const reason = reasonToSkip(table);
    if (reason === null) usable.push(table);
    else skipped.push({ subject: labelOf(table), reason });
  }
  // tables of the default schema get the plain names
  usable.sort((a, b) => Number(a.schema !== null) - Number(b.schema !== null));
  const joins = usable.filter((table) => isJoinTable(table, options));
  const targets = new Map<string, Target>(existing.map((model) => [keyOf(model), model]));
  const taken = new Set(existing.flatMap((model) => [model.className.toLowerCase(), model.exportName.toLowerCase()]));
  const files = new Set<string>();
  for (const table of usable) {
    if (joins.includes(table)) continue;
    const own = className(table.name);
    const name = takeName([own, ...(table.schema === null ? [] : [className(`${table.schema}_${table.name}`)])], taken);
    const file = freeFile(name, (path) => files.has(path) || exists(path));
    files.add(file);
    targets.set(keyOf(table), { className: name, exportName: name, file });
  }
  const finder = new TargetFinder(options, targets);
  const planned = joins.flatMap((table) => joinOf(table, finder));
  // a join table without two models becomes nothing: neither of its ends is there
  for (const table of joins)
    if (!planned.some((one) => one.table === table))
      skipped.push({ subject: labelOf(table), reason: 'it joins tables without models' });
  const isNew = (target: Target) => !existing.some((one) => one.file === target.file && one.exportName === target.exportName);
  const models = usable
    .filter((table) => !joins.includes(table))
    .map((table) =>
      modelOf(
        table,
        finder,
        planned.filter((one) => one.owner === targets.get(keyOf(table))),
      ),
    );
  for (const { className: model, ignored, plainKeys } of models) {
    for (const { column, reason } of ignored)
      skipped.push({ subject: `${model}: the column ${column.name} (${column.type})`, reason });
    for (const { key, reason } of plainKeys)
      skipped.push({ subject: `${model}: the foreign key (${key.columns.join(', ')})`, reason });
  }
  const unmapped = planned.flatMap(({ owner, ...join }) => {
    const model = isNew(owner)
      ? undefined
      : existing.find((one) => one.exportName === owner.exportName && one.file === owner.file);
    return model ? [{ model, property: joinProperty(join, new Set()) }] : [];
  });
  return { models, skipped, unmapped };
}

function freeFile(name: string, isTaken: (file: string) => boolean): string {
  for (let number = 1; ; number++) {
    const file = `src/models/${fileName(name)}${number === 1 ? '' : `-${number}`}.ts`;
    if (!isTaken(file)) return file;
  }
}

function reasonToSkip({ columns, name, primaryKey, schema, view }: InventoryTable): string | null {
  const trouble = troubleIn(name) ?? (schema === null ? null : troubleIn(schema));
  if (trouble !== null) return trouble;
  if (primaryKey.length === 0)
    return view === null ? 'it has no primary key' : 'it is a view without a column id; declare a model for it by hand';
  for (const column of columns.filter((one) => primaryKey.includes(one.name))) {
    const reason = reasonToIgnore(column);
    if (reason !== null) return `its primary key ${column.name} (${column.type}) cannot be mapped: ${reason}`;
    if (column.generated !== null) return `its primary key ${column.name} is a generated column`;
  }
  return null;
}

function reasonToIgnore({ mapping, name }: InventoryColumn): string | null {
  return troubleIn(name) ?? ('unsupported' in mapping ? mapping.unsupported : null);
}

/** Whether a table has two foreign keys, which are its primary key, and nothing else. */
function isJoinTable({ columns, foreignKeys, primaryKey }: InventoryTable, reading: Reading): boolean {
  if (columns.length !== 2 || primaryKey.length !== 2 || foreignKeys.length !== 2) return false;
  const names = new Set(foreignKeys.flatMap((key) => key.columns));
  return names.size === 2 && foreignKeys.every((key) => key.columns.length === 1 && referencesKey(key, columns, reading));
}

/** Whether a foreign key refers to a primary key, whose values both can hold. */
function referencesKey(key: InventoryForeignKey, columns: readonly InventoryColumn[], { fits, inventory }: Reading): boolean {
  const target = inventory.tables.find((one) => keyOf(one) === keyOf(key.target));
  if (!target || key.columns.length !== target.primaryKey.length) return false;
  return target.primaryKey.every((name) => {
    const from = columns.find((column) => column.name === key.columns[key.targetColumns.indexOf(name)]);
    const to = target.columns.find((column) => column.name === name);
    if (!from || !to || !('family' in from.mapping) || !('family' in to.mapping)) return false;
    if (from.mapping.family === 'enum')
      return from.mapping.builder === to.mapping.builder && from.mapping.options === to.mapping.options;
    return from.mapping.family === to.mapping.family && fits(to, from);
  });
}

/** Why the own columns of an association cannot be one; null if they can. */
function reasonAgainstColumns(own: readonly InventoryColumn[]): string | null {
  if (own.length === 0) return 'and has no column of its own';
  if (own.length > 1 && own.some(({ default: given, generated }) => given !== null || generated !== null))
    return 'and its columns have values of the database';
  return new Set(own.map(({ isRequired }) => isRequired)).size > 1 ? 'and only a part of its columns can be null' : null;
}

/** Finds the models that foreign keys refer to. */
class TargetFinder {
  readonly #reading: Reading;
  readonly #targets: ReadonlyMap<string, Target>;

  constructor(reading: Reading, targets: ReadonlyMap<string, Target>) {
    this.#reading = reading;
    this.#targets = targets;
  }

  /** The model that a foreign key refers to, or the reason why it is not an association. */
  find(key: InventoryForeignKey, table: InventoryTable): Target | string {
    const label = `${labelOf(key.target)} (${key.targetColumns.join(', ')})`;
    const target = this.#targets.get(keyOf(key.target));
    if (!target) return `references ${label}, which has no model`;
    if (!referencesKey(key, table.columns, this.#reading)) return `references ${label}, which is not a primary key of this type`;
    if (this.#isCircular(table, key)) return `references ${label}, whose key refers to this one`;
    return target;
  }

  /** The columns of an association, in the order of the key that they refer to. */
  columnsOf({ columns, target, targetColumns }: InventoryForeignKey, table: InventoryTable): InventoryColumn[] {
    const { columns: others } = this.#reading.inventory.tables.find((one) => keyOf(one) === keyOf(target)) as InventoryTable;
    return others
      .filter(({ name }) => targetColumns.includes(name))
      .map(({ name }) => columns[targetColumns.indexOf(name)])
      .map((name) => table.columns.find((column) => column.name === name) as InventoryColumn);
  }

  /** The model of a table. */
  of(table: TableName): Target | undefined {
    return this.#targets.get(keyOf(table));
  }

  /** Whether keys that are associations would refer to each other in a circle. */
  #isCircular(table: InventoryTable, key: InventoryForeignKey): boolean {
    const isKey = (one: InventoryTable, { columns }: InventoryForeignKey) =>
      columns.every((column) => one.primaryKey.includes(column));
    if (!isKey(table, key)) return false;
    const seen = new Set<string>();
    const reaches = (name: TableName): boolean => {
      if (keyOf(name) === keyOf(table)) return true;
      if (seen.has(keyOf(name))) return false;
      seen.add(keyOf(name));
      const next = this.#reading.inventory.tables.find((one) => keyOf(one) === keyOf(name));
      return next?.foreignKeys.some((one) => isKey(next, one) && reaches(one.target)) === true;
    };
    return reaches(key.target);
  }
}

interface PlannedJoin extends Omit<JoinTable, 'kind' | 'name'> {
  readonly owner: Target;
}

function joinOf(table: InventoryTable, finder: TargetFinder): PlannedJoin[] {
  const ordered = [...table.foreignKeys].sort((a, b) => position(a, table) - position(b, table));
  const [own, other] = ordered as [InventoryForeignKey, InventoryForeignKey];
  const owner = finder.of(own.target);
  const target = finder.of(other.target);
  return owner && target ? [{ owner, table, own, other, target }] : [];
}

function position({ columns }: InventoryForeignKey, { primaryKey }: InventoryTable): number {
  return primaryKey.indexOf(columns[0] as string);
}

function joinProperty({ other, own, table, target }: Omit<JoinTable, 'kind' | 'name'>, taken: Set<string>): JoinTable {
  const wanted = plural(associationName(other.columns[0] as string, other.targetColumns[0] as string));
  const name = takeName([wanted, propertyName(table.name)], taken);
  return { kind: 'join table', name, table, own, other, target };
}

function modelOf(table: InventoryTable, finder: TargetFinder, joins: readonly PlannedJoin[]): PlannedModel {
  const self = finder.of(table) as Target;
  const ignored: PlannedModel['ignored'][number][] = [];
  const taken = new Set<string>();
  const associations = new Map<string, { readonly key: InventoryForeignKey; readonly target: Target }>();
  const plainKeys: PlannedModel['plainKeys'][number][] = [];
  // a column of several associations belongs to the one that has no other, or is a property of its own
  const found = table.foreignKeys
    .map((key) => ({ key, target: finder.find(key, table) }))
    .sort((one, other) => one.key.columns.length - other.key.columns.length);
  const uses = found.flatMap(({ key, target }) => (typeof target === 'string' ? [] : key.columns));
  for (const { key, target } of found) {
    if (typeof target === 'string') {
      plainKeys.push({ key, reason: target });
      continue;
    }
    const isKey = key.columns.every((column) => table.primaryKey.includes(column));
    const isOwn = (column: string) =>
      key.columns.length === 1
        ? !associations.has(column)
        : uses.filter((each) => each === column).length === 1 && (isKey || !table.primaryKey.includes(column));
    const own = table.columns.filter(({ name }) => key.columns.includes(name) && isOwn(name));
    const reason = isKey && own.length < key.columns.length ? 'and has no column of its own' : reasonAgainstColumns(own);
    if (reason === null) for (const { name } of own) associations.set(name, { key, target });
    else {
      const label = `${labelOf(key.target)} (${key.targetColumns.join(', ')})`;
      plainKeys.push({
        key,
        reason: key.columns.length > 1 ? `references ${label}, ${reason}` : 'its column is an association already',
      });
    }
  }
  const notesOf = (column: string) =>
    plainKeys
      .filter(({ key }) => key.columns.find((one) => !associations.has(one)) === column)
      .map(({ key, reason }) => (key.columns.length > 1 ? `(${key.columns.join(', ')}) ${reason}` : reason));
  const mapped = table.columns.filter((column) => {
    const reason = reasonToIgnore(column);
    if (reason !== null) ignored.push({ column, reason });
    return reason === null;
  });
  const names = new Map<string, string>();
  for (const { name } of mapped) if (!associations.has(name)) names.set(name, takeName([propertyName(name)], taken));
  const written = new Set<InventoryForeignKey>();
  const properties = mapped.flatMap((column): PlannedProperty[] => {
    const association = associations.get(column.name);
    if (!association) {
      const { mapping, name } = column;
      return [
        {
          kind: 'column',
          name: names.get(name) as string,
          column,
          mapping: mapping as PropertyMapping,
          notes: notesOf(name),
        },
      ];
    }
    const { key, target } = association;
    if (written.has(key)) return [];
    written.add(key);
    const wanted = associationNames(key);
    const own = table.columns.filter(({ name }) => associations.get(name)?.key === key);
    return [{ kind: 'association', name: takeName(wanted, taken), columns: finder.columnsOf(key, table), own, key, target }];
  });
  for (const { owner: _, ...join } of joins) properties.push(joinProperty(join, taken));
  return { ...self, table, properties, ignored, plainKeys, withoutApi: reasonAgainstApi(table) };
}

function reasonAgainstApi({ columns, primaryKey }: InventoryTable): string | null {
  const isAddressable = ({ mapping }: InventoryTable['columns'][number]) => 'builder' in mapping && mapping.isAddressable;
  const keys = primaryKey.map((key) => columns.find(({ name }) => name === key));
  const at = keys.findIndex((key) => !key || !isAddressable(key));
  return at < 0 ? null : `its primary key ${primaryKey[at]} (${keys[at]?.type}) cannot be part of a path`;
}
