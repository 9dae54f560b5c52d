import { type EntityMetadata, type EntityProperty, EventType, Reference } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import { type AssociationField, type Field, type FieldPlan, isSamePlan, targetsOf } from '../../model/field-plan.ts';
import { hasDiscriminator, isKindOf, metaOfEntity } from '../../model/hierarchy.ts';
import { entityKey, isComposite, keyParts } from '../../model/identifier.ts';
import { valueKindOf } from '../../model/value-kind.ts';
import type { ReadComputed, RowField, RowObject, RowVariant, VisibleKeys } from '../../serialization/row-writer.ts';
import type { VisibleRows } from '../../serialization/serializer.ts';
import { filtersMore, hidingAssociation, isFiltered } from '../entities/filters.ts';
import {
  associatedRows,
  belongsTo,
  discriminatorColumn,
  foreignColumns,
  holdsForeignKey,
  keyColumns,
  NotCompilable,
  plainTable,
  refuseNormalized,
  refuseUnusual,
} from './association.ts';
import { columnField, type SelectedColumns, scalarField } from './column-field.ts';
import { embeddedField } from './embedded-field.ts';
import { type InstanceValue, type MakeInstance, NoInstance } from './instance.ts';
import { type InstanceColumns, planInstance } from './instance-plan.ts';
import { isNumberKey, type TextColumn } from './seek/key-order.ts';
import { columnOf, quoted } from './table-name.ts';

/** Columns of a table and of the tables joined to it, from which objects are written. */
export interface RowSelection {
  /** In SQL, in order of position. */
  readonly columns: readonly string[];
  readonly table: string;
  readonly joins: readonly string[];
  readonly conditions: readonly string[];
  readonly object: RowObject;
}

/** The rows of one to-many association, fetched for all of their owners at once. */
export interface ManySelection extends RowSelection {
  /** Which selection they belong to: a to-many before this one, or the root (null). */
  readonly parent: number | null;
  /** The columns of the parent's rows that hold the key of the owner. */
  readonly parentColumns: readonly number[];
  /** The columns, in SQL, that hold that key here. They are also the first of the columns. */
  readonly owner: readonly string[];
  readonly ownerTypes: readonly string[];
  /** How the rows of one owner are sorted: the columns in SQL, and the positions of those sorted by code unit. */
  readonly order: { readonly sql: string; readonly textColumns: readonly TextColumn[] | null };
}

/** Converts a value of any kind to what JSON can hold. */
export type Embed = (value: unknown, visibleRows: VisibleRows) => unknown;

/** The table of a class whose rows can be read without MikroORM. The filters of the class itself are applied elsewhere. */
export function readableTable(mapper: Mapper, meta: EntityMetadata): string {
  const table = plainTable(mapper, meta);
  const hiding = hidingAssociation(meta);
  if (hiding) throw new NotCompilable(`${meta.className}.${String(hiding.name)} points to what a filter can hide`);
  const events = mapper.em.getEventManager();
  if ([EventType.onLoad, EventType.onInit].some((event) => events.hasListeners(event, meta)))
    throw new NotCompilable(`${meta.className} has code that runs when a row is loaded`);
  return table;
}

interface PendingMany {
  readonly field: AssociationField;
  readonly owner: EntityMetadata;
  readonly source: number;
  readonly parentColumns: readonly number[];
}

/** The state that the statements of one plan share. */
export class RowPlanner {
  readonly mapper: Mapper;
  readonly many: ManySelection[] = [];
  readonly limited: EntityMetadata[] = [];
  readonly embed: Embed | null;
  /** Makes the items of to-many associations for code of a model, by the number of the association. */
  readonly items = new Map<number, MakeInstance | null>();
  readonly #isLimited: (meta: EntityMetadata) => boolean;
  #sources = 0;
  #aliases = 0;

  constructor(mapper: Mapper, isLimited: (meta: EntityMetadata) => boolean, embed: Embed | null) {
    this.mapper = mapper;
    this.embed = embed;
    this.#isLimited = isLimited;
  }

  /** The visibility of rows that code of a model returns. `seen` are the visible keys of the limited classes. */
  visibleRowsOf(seen: readonly VisibleKeys[] | undefined): VisibleRows {
    const shows = (meta: EntityMetadata, key: unknown) => seen?.[this.limited.indexOf(meta)]?.has(String(key)) === true;
    return {
      isLimited: (meta) => this.#isLimited(meta),
      shows: (entity) => shows(metaOfEntity(this.mapper, entity), entityKey(entity)),
      showsKey: shows,
      computed: (_entity, _property, compute) => compute(),
    };
  }

  /** Marks a variant whose rows are embedded only if the caller sees them. */
  markLimited(variant: RowVariant, meta: EntityMetadata): RowVariant {
    if (!this.#isLimited(meta)) return variant;
    const known = this.limited.indexOf(meta);
    return { ...variant, seen: known >= 0 ? known : this.limited.push(meta) - 1 };
  }

  alias(): string {
    return `t${this.#aliases++}`;
  }

  source(): number {
    return this.#sources++;
  }

  /** The rows of an association that are embedded in other rows. */
  associated(property: EntityProperty, owner: EntityMetadata, target: EntityMetadata, alias: string, pivotAlias = '') {
    if (isFiltered(target)) throw new NotCompilable(`${target.className} has a filter that is on by default`);
    readableTable(this.mapper, target);
    return associatedRows(this.mapper, property, { owner, target }, alias, pivotAlias);
  }

  /** Plans the to-many associations of a selection, and then those within their rows. */
  planMany(selection: Selection, parent: number | null): void {
    for (const pending of selection.pending) {
      const inner = new Selection(this);
      this.many[pending.source] = this.#selectMany(pending, inner, parent);
      this.planMany(inner, pending.source);
    }
  }

  #selectMany({ field, owner, parentColumns, source }: PendingMany, inner: Selection, parent: number | null): ManySelection {
    const { metadata: property, plan } = field;
    const target = property.targetMeta as EntityMetadata;
    if (property.fixedOrder) throw new NotCompilable(`"${String(property.name)}" keeps an order of its own`);
    const alias = this.alias();
    const rows = this.associated(property, owner, target, alias, this.alias());
    for (const column of rows.columns) inner.add(column);
    const object = inner.embeddedObject(plan, target, alias, null);
    const order = property.orderBy ? this.#ownOrder(property, target, alias) : this.#keyOrder(target, alias, inner);
    if (this.items.has(source)) this.items.set(source, inner.instance(target, alias, plan));
    const { columns, joins } = inner;
    return {
      columns,
      table: rows.from,
      joins,
      conditions: rows.conditions,
      object,
      parent,
      parentColumns,
      owner: rows.columns,
      ownerTypes: keyParts(owner).map(({ type }) => type),
      order,
    };
  }

  #keyOrder(target: EntityMetadata, alias: string, inner: Selection): ManySelection['order'] {
    const keys = keyColumns(this.mapper, target).map((key) => `${alias}.${key}`);
    const platform = this.mapper.driver.getPlatform();
    const areNumbers = keyParts(target).map(({ leaf }) => isNumberKey(valueKindOf(leaf, platform), target));
    const textColumns = () => keys.map((key, i) => ({ column: inner.add(key), isNumber: areNumbers[i] as boolean }));
    return { sql: keys.join(', '), textColumns: areNumbers.every(Boolean) ? null : textColumns() };
  }

  /** The order that the model declares for a to-many association, if it is one by columns of the items; finally by key. */
  #ownOrder(property: EntityProperty, target: EntityMetadata, alias: string): ManySelection['order'] {
    const terms = [property.orderBy].flat().flatMap((map) => Object.entries(map ?? {}));
    const columns = terms.map(([name, direction]) => {
      const ordered = target.properties[name as never] as EntityProperty | undefined;
      const isPlain = ordered?.kind === 'scalar' && ordered.fieldNames?.length === 1;
      if (!isPlain || ordered.formula || ordered.customOrder || !/^(asc|desc)$/i.test(String(direction)))
        throw new NotCompilable(`${String(property.name)} is ordered by more than columns of its items`);
      return `${alias}.${columnOf(this.mapper, ordered)} ${direction}`;
    });
    const keys = keyColumns(this.mapper, target).map((key) => `${alias}.${key}`);
    return { sql: [...columns, ...keys].join(', '), textColumns: null };
  }
}

/** Collects the columns and joins of one statement. */
export class Selection implements SelectedColumns {
  readonly mapper: Mapper;
  readonly columns: string[] = [];
  readonly joins: string[] = [];
  readonly pending: PendingMany[] = [];
  readonly #planner: RowPlanner;
  readonly #joined = new Map<string, string>();
  readonly #tables = new Set<string>();
  #hasFormula = false;

  constructor(planner: RowPlanner) {
    this.#planner = planner;
    this.mapper = planner.mapper;
  }

  add(sql: string): number {
    const known = this.columns.indexOf(sql);
    return known >= 0 ? known : this.columns.push(sql) - 1;
  }

  addColumn(alias: string, property: EntityProperty): number {
    return this.add(`${alias}.${columnOf(this.mapper, property)}`);
  }

  /** Whether joined rows or formulas can come from a table. */
  reads(table: string): boolean {
    return this.#hasFormula || this.#tables.has(table);
  }

  object(plan: FieldPlan, meta: EntityMetadata, alias: string, presence: number | null): RowObject {
    refuseNormalized(plan);
    const variants = [...plan.variants];
    const stricter = variants.find(([concrete]) => filtersMore(concrete, meta));
    if (stricter) throw new NotCompilable(`${stricter[0].className} has a filter that ${meta.className} does not have`);
    const several = variants.length > 1 || (hasDiscriminator(meta) && meta.root === meta);
    const discriminator = several ? this.add(`${alias}.${discriminatorColumn(this.mapper, meta)}`) : null;
    return {
      presence,
      discriminator,
      variants: variants.map(
        ([concrete, fields]): RowVariant => ({
          type: several ? String(concrete.discriminatorValue) : null,
          fields: fields.map((field) => this.#field(field, concrete, alias)),
          ...(fields.some(isMadeByModel) && {
            instance: this.instance(concrete, alias, { variants: new Map([[concrete, fields]]) }),
          }),
        }),
      ),
    };
  }

  /** The same for an object that is embedded in another one. */
  embeddedObject(plan: FieldPlan, meta: EntityMetadata, alias: string, presence: number | null): RowObject {
    const object = this.object(plan, meta, alias, presence);
    const metas = [...plan.variants.keys()];
    const variants = object.variants.map((variant, i) => this.#planner.markLimited(variant, metas[i] as EntityMetadata));
    if (variants.every(({ seen }) => seen === undefined)) return object;
    return { ...object, variants, keys: this.#addKey(alias, meta), from: { table: plainTable(this.mapper, meta), alias } };
  }

  #addKey(alias: string, meta: EntityMetadata): number[] {
    return keyColumns(this.mapper, meta).map((key) => this.add(`${alias}.${key}`));
  }

  /** Makes instances of a class from the rows under an alias, with what a plan shows of their associations. */
  instance(meta: EntityMetadata, alias: string, plan: FieldPlan): MakeInstance {
    try {
      return planInstance(meta, this.instanceColumns(alias, plan));
    } catch (error) {
      throw error instanceof NoInstance ? new NotCompilable(error.message) : error;
    }
  }

  instanceColumns(alias: string, plan: FieldPlan | null): InstanceColumns {
    return {
      mapper: this.mapper,
      alias,
      add: (sql) => this.add(sql),
      quote: (name) => quoted(this.mapper, name),
      loaded: (property, concrete) => {
        const field = plan?.variants.get(concrete)?.find((candidate) => candidate.metadata === property);
        if (field?.kind === 'to-one') return this.#loadedOne(field, concrete, alias);
        return field?.kind === 'to-many' ? this.#loadedMany(field, concrete, alias) : null;
      },
    };
  }

  /** An associated row, which is joined already because the plan shows it; null if the plan shows only its key. */
  #loadedOne({ metadata: property, plan }: AssociationField, meta: EntityMetadata, alias: string): InstanceValue | null {
    const showsMore = [...plan.variants.values()].some((fields) => fields.some(({ metadata }) => !metadata.primary));
    if (!showsMore || property.mapToPk) return null;
    const makers = targetsOf(property).map((target) => {
      const joined = this.#join(property, target, meta, alias);
      return { presence: this.#addKey(joined, target)[0] as number, make: this.instance(target, joined, plan) };
    });
    const wrap = property.ref ? (entity: object) => Reference.create(entity as never) : (entity: object) => entity;
    const make: MakeInstance = (row, many, context) => {
      const found = makers.find(({ presence }) => row[presence] !== null && row[presence] !== undefined);
      const instance = found?.make(row, many, context) ?? null;
      return instance && wrap(instance);
    };
    return { kind: 'made', property, make };
  }

  #loadedMany(field: AssociationField, meta: EntityMetadata, alias: string): InstanceValue {
    const columns = this.#addKey(alias, meta);
    const source = this.#source(field, meta, columns);
    const { items } = this.#planner;
    if (!items.has(source)) items.set(source, null);
    return { kind: 'many', property: field.metadata, source, columns, items: () => items.get(source) as MakeInstance };
  }

  #field(field: Field, meta: EntityMetadata, alias: string): RowField {
    const own = this.#ownField(field, meta, alias);
    const { normalization } = field;
    if (!normalization) return own;
    return { ...own, normalize: (json) => JSON.stringify(normalization.normalize(JSON.parse(json)) ?? null) };
  }

  #ownField(field: Field, meta: EntityMetadata, alias: string): RowField {
    if (isMadeByModel(field)) return this.#computed(field, meta);
    switch (field.kind) {
      case 'scalar':
        this.#hasFormula ||= field.metadata.formula !== undefined;
        return scalarField(this, field, meta, alias);
      case 'embedded':
        return embeddedField(this, field, field.metadata, `${meta.className}.${field.property}`, alias);
      case 'to-one':
        refuseUnusual(field.metadata);
        return this.#bareReference(field, alias) ?? this.#toOne(field, meta, alias);
      case 'to-many': {
        const columns = this.#addKey(alias, meta);
        return { kind: 'to-many', name: field.name, source: this.#source(field, meta, columns), columns };
      }
    }
  }

  /** A field that code of the model makes: a getter, or a serializer of its own. */
  #computed({ metadata: { serializer }, name, property }: Field, meta: EntityMetadata): RowField {
    const { embed } = this.#planner;
    if (!embed) throw new NotCompilable(`${meta.className}.${property} is computed by the model`);
    const read: ReadComputed = (entity, seen) => {
      const value = (entity as Record<string, unknown>)[property];
      return embed(serializer ? serializer(value ?? null) : value, this.#planner.visibleRowsOf(seen)) ?? null;
    };
    return { kind: 'computed', name, read };
  }

  /** The number of a to-many association. One that several classes inherit is fetched once for all of them. */
  #source(field: AssociationField, owner: EntityMetadata, parentColumns: readonly number[]): number {
    const { mappedBy, pivotTable, targetMeta } = field.metadata;
    const known = this.pending.find(
      ({ field: other, parentColumns: columns }) =>
        String(columns) === String(parentColumns) &&
        other.property === field.property &&
        other.metadata.targetMeta === targetMeta &&
        other.metadata.mappedBy === mappedBy &&
        other.metadata.pivotTable === pivotTable &&
        isSamePlan(other.plan, field.plan),
    );
    if (known) return known.source;
    const source = this.#planner.source();
    this.pending.push({ field, owner, source, parentColumns });
    return source;
  }

  /** A reference that shows only its key, which the row holds itself; null if the reference shows more. */
  #bareReference({ metadata: property, name, plan }: AssociationField, alias: string): RowField | null {
    refuseNormalized(plan);
    const [[target, fields] = [], ...others] = plan.variants;
    if (!target || !fields || others.length > 0 || !holdsForeignKey(property) || fields.some(({ metadata }) => !metadata.primary))
      return null;
    // parts of a key that are associations themselves can be hidden, and need their own rows
    if (isComposite(target) && fields.some(({ kind }) => kind !== 'scalar')) return null;
    const foreign = foreignColumns(this.mapper, property, target).map((column) => `${alias}.${column}`);
    const columns = foreign.map((sql) => this.add(sql));
    const parts = keyParts(target);
    const inner = fields.map((field): RowField => {
      if (field.kind !== 'scalar' || field.metadata.serializer || field.normalization)
        throw new NotCompilable(`${target.className}.${field.property} is not a plain key`);
      const at = parts.findIndex(({ property: part }) => part.name === field.metadata.name);
      return columnField(this, field, field.metadata, foreign[at] as string);
    });
    const variant = this.#planner.markLimited({ type: null, fields: inner }, target);
    const presence = columns[0] as number;
    return { kind: 'to-one', name, objects: [{ presence, discriminator: null, variants: [variant], keys: columns }] };
  }

  #toOne({ metadata: property, name, plan }: AssociationField, meta: EntityMetadata, alias: string): RowField {
    const objects = targetsOf(property).map((target) => {
      const variants = new Map([...plan.variants].filter(([concrete]) => isKindOf(concrete, target)));
      const joined = this.#join(property, target, meta, alias);
      return this.embeddedObject({ ...plan, variants }, target, joined, this.#addKey(joined, target)[0] as number);
    });
    return { kind: 'to-one', name, objects };
  }

  /** The alias of a joined table. An association that several classes inherit is joined once for all of them. */
  #join(property: EntityProperty, target: EntityMetadata, meta: EntityMetadata, alias: string): string {
    const joinAs = (joined: string): string => {
      const rows = this.#planner.associated(property, meta, target, joined);
      return `left join ${rows.from} on ${[belongsTo(rows, [alias]).join(''), ...rows.conditions].join(' and ')}`;
    };
    const form = joinAs('');
    const known = this.#joined.get(form);
    if (known) return known;
    const joined = this.#planner.alias();
    this.#joined.set(form, joined);
    this.#tables.add(plainTable(this.mapper, target));
    this.joins.push(joinAs(joined));
    return joined;
  }
}

/** Whether code of the model makes a field. */
function isMadeByModel(field: Field): boolean {
  const { hydrate, serializer } = field.metadata;
  return Boolean(serializer) || (field.kind === 'scalar' && (field.computed || hydrate === false));
}
