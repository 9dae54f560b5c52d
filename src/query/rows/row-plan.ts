import {
  ArrayType,
  DateType,
  type EntityMetadata,
  type EntityProperty,
  helper,
  Reference,
  ReferenceKind,
  type Type,
} from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import { type Dialect, dialectOf } from '../../dialect/dialect.ts';
import {
  type AssociationField,
  type EmbeddedField,
  type Field,
  type FieldPlan,
  hidesParts,
  isBlank,
  type ScalarField,
  targetsOf,
} from '../../model/field-plan.ts';
import { hasDiscriminator, isKindOf, metaOfEntity } from '../../model/hierarchy.ts';
import { keyOf } from '../../model/identifier.ts';
import { type ValueKind, valueKindOf } from '../../model/value-kind.ts';
import { versionOf } from '../../model/version.ts';
import { toJson } from '../../serialization/kind-conversions.ts';
import type { ReadComputed, RowField, RowObject, RowVariant, SeenKeys } from '../../serialization/row-writer.ts';
import type { VisibleRows } from '../../serialization/serializer.ts';
import { dateOf, integerToJson, parsedJson } from '../../serialization/to-json.ts';
import { filtersMore, isFiltered } from '../entities/filters.ts';
import { columnReader, type InstanceValue, type MakeInstance, NoInstance } from './instance.ts';
import { type InstanceColumns, planInstance } from './instance-plan.ts';
import { versionColumns } from './row-version.ts';
import { tableOf } from './table-name.ts';

/** Thrown while a plan is made: what it shows can only be had from an entity. */
export class NeedsEntity extends Error {}

/** Columns of a table and of the tables joined to it, from which objects are written. */
export interface RowSelection {
  /** As they stand in SQL, in order of position. */
  readonly columns: readonly string[];
  readonly table: string;
  readonly joins: readonly string[];
  readonly object: RowObject;
}

/** The rows of one to-many association, fetched for all that they belong to at once. */
export interface ManySelection extends RowSelection {
  /** Which selection they belong to: a to-many before this one, or the root (null). */
  readonly parent: number | null;
  /** The column of the parent's rows that holds the key they are found by. */
  readonly parentColumn: number;
  /** The column, in SQL, that holds that key here. It is also the first of the columns. */
  readonly owner: string;
  readonly conditions: readonly string[];
  /** What the rows of one owner are sorted by: the column in SQL, and its position where it is sorted by code unit. */
  readonly order: { readonly sql: string; readonly textColumn: number | null };
}

/** Everything that is fetched for a field plan: a fixed number of statements. */
export interface RowPlan {
  readonly root: RowSelection & { readonly key: string; readonly conditions: readonly string[] };
  readonly many: readonly ManySelection[];
  /** Makes the object that voters and hooks are shown; a text says why none can be made. */
  readonly subject: MakeInstance | string;
  /** The column that holds the version of the root's rows; null where they have none, or nobody asked for it. */
  readonly version: number | null;
  /** The columns that tell later whether a row of the root was changed; null where nobody asked for them. */
  readonly rowVersion: readonly number[] | null;
  /** The classes whose rows are embedded only where the caller sees them, by the number of their set of keys. */
  readonly limited: readonly EntityMetadata[];
}

/** What a row plan is for, beyond its fields. */
export interface RowPlanOptions {
  /** Whether rows are made entities, for somebody to judge. */
  readonly withSubject?: boolean;
  /** Whether the version of a row is wanted, be it shown or not. */
  readonly withVersion?: boolean;
  /** Whether it is wanted what tells later whether a row was changed. */
  readonly withRowVersion?: boolean;
  /** Whether rows of exactly this class can be hidden from a caller. */
  readonly isLimited?: (meta: EntityMetadata) => boolean;
  /** Serializes what code of a model gives; without it, such fields need entities. */
  readonly embed?: Embed | undefined;
}

/** Makes what stands in JSON of a value of any kind. */
export type Embed = (value: unknown, sight: VisibleRows) => unknown;

export const rootTableAlias = 'e';

/** Makes the plan by which rows become JSON without entities, or throws {@link NeedsEntity} with the reason. */
export function planRows(
  mapper: Mapper,
  meta: EntityMetadata,
  plan: FieldPlan,
  { embed, isLimited = () => false, withRowVersion = false, withSubject = false, withVersion = false }: RowPlanOptions = {},
): RowPlan {
  const planner = new RowPlanner(mapper, isLimited, embed ?? null);
  const selection = new Selection(planner, planner.rootTable(meta), rootTableAlias);
  const object = selection.object(plan, meta, rootTableAlias, null);
  const subject = withSubject ? selection.subject(meta) : 'nobody asked for one';
  const version = withVersion ? versionOf(meta) : null;
  const root = {
    ...selection.done(object),
    key: selection.column(rootTableAlias, keyColumn(meta)),
    conditions: planner.discriminatorOf(meta, rootTableAlias),
  };
  const versionColumn = version && selection.add(`${rootTableAlias}.${planner.quote(version.fieldNames[0] as string)}`);
  const rowVersion = withRowVersion ? versionColumns(mapper, meta, rootTableAlias).map((sql) => selection.add(sql)) : null;
  planner.descend(selection, null);
  return { root, many: planner.many, subject, version: versionColumn, rowVersion, limited: planner.limited };
}

interface PendingMany {
  readonly field: AssociationField;
  readonly source: number;
  readonly parentColumn: number;
}

class RowPlanner {
  readonly mapper: Mapper;
  readonly dialect: Dialect;
  readonly many: ManySelection[] = [];
  readonly limited: EntityMetadata[] = [];
  readonly #isLimited: (meta: EntityMetadata) => boolean;
  readonly embed: Embed | null;
  /** Makes the items of to-many associations that code of a model is shown, by their number. */
  readonly items = new Map<number, MakeInstance | null>();
  #sources = 0;
  #aliases = 0;

  constructor(mapper: Mapper, isLimited: (meta: EntityMetadata) => boolean, embed: Embed | null) {
    this.embed = embed;
    this.mapper = mapper;
    this.dialect = dialectOf(mapper);
    this.#isLimited = isLimited;
  }

  /** What code of a model gives is shown as far as the caller sees it: `seen` are the keys of the limited classes. */
  visibleRowsOf(seen: readonly SeenKeys[] | undefined): VisibleRows {
    const shows = (meta: EntityMetadata, key: unknown) => seen?.[this.limited.indexOf(meta)]?.has(String(key)) === true;
    return {
      isLimited: (meta) => this.#isLimited(meta),
      shows: (entity) => shows(metaOfEntity(this.mapper, entity), helper(entity).getPrimaryKey()),
      showsKey: shows,
      computed: (_entity, _property, compute) => compute(),
    };
  }

  /** Marks a variant whose rows are embedded only where they are seen. */
  inSight(variant: RowVariant, meta: EntityMetadata): RowVariant {
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

  quote(name: string): string {
    return this.mapper.driver.getPlatform().quoteIdentifier(name).toString();
  }

  table(meta: EntityMetadata): string {
    if (isFiltered(meta)) throw new NeedsEntity(`${meta.className} has a filter that is on by default`);
    return this.rootTable(meta);
  }

  /** The table of the root, whose own filters are heeded elsewhere. */
  rootTable(meta: EntityMetadata): string {
    if (meta.inheritanceType === 'tpt' || meta.root.inheritanceType === 'tpt')
      throw new NeedsEntity(`${meta.className} has a table for each type`);
    if (meta.virtual || meta.schema === '*') throw new NeedsEntity(`${meta.className} has no table of its own`);
    const hiding = (meta.relations as EntityProperty[]).find(
      (property) => isToOne(property) && targetsOf(property).some(isFiltered),
    );
    // it hides the rows that point to what it hides, whether or not anybody is shown the association
    if (hiding) throw new NeedsEntity(`${meta.className}.${String(hiding.name)} points to what a filter can hide`);
    if (hasLoadHooks(meta)) throw new NeedsEntity(`${meta.className} has code that runs when a row is loaded`);
    return tableOf(this.mapper, meta);
  }

  /** Rows of a class that shares its table with others. */
  discriminatorOf(meta: EntityMetadata, alias: string): string[] {
    if (!hasDiscriminator(meta) || meta.root === meta) return [];
    const values = Object.entries(meta.root.discriminatorMap ?? {})
      .filter(([, type]) => type === meta.class || type.prototype instanceof meta.class)
      .map(([value]) => `'${value.replaceAll("'", "''")}'`);
    return [`${alias}.${this.quote(discriminatorColumn(meta))} in (${values.join(', ')})`];
  }

  /** Plans the to-many associations that were met in a selection, and then those met in theirs. */
  descend(selection: Selection, parent: number | null): void {
    for (const pending of selection.pending) {
      const { selection: inner, many } = this.#planMany(pending, parent);
      this.many[pending.source] = many;
      this.descend(inner, pending.source);
    }
  }

  #planMany({ field, parentColumn, source }: PendingMany, parent: number | null): { selection: Selection; many: ManySelection } {
    const { metadata: property, plan } = field;
    const target = property.targetMeta as EntityMetadata;
    refuseUnusual(property);
    const alias = this.alias();
    const inner = new Selection(this, this.table(target), alias);
    const { table, owner, joins } =
      property.kind === ReferenceKind.MANY_TO_MANY
        ? this.#throughPivot(property, target, alias)
        : this.#byForeignKey(property, target, alias);
    inner.column(null, owner);
    const object = inner.embeddedObject(plan, target, alias, null);
    const order = property.orderBy ? this.#ownOrder(property, target, alias) : this.#keyOrder(target, alias, inner);
    if (this.items.has(source)) this.items.set(source, inner.instance(target, alias, plan));
    const done = inner.done(object);
    return {
      selection: inner,
      many: {
        ...done,
        table,
        joins: [...joins, ...done.joins],
        parent,
        parentColumn,
        owner,
        conditions: this.discriminatorOf(target, alias),
        order,
      },
    };
  }

  #keyOrder(target: EntityMetadata, alias: string, inner: Selection): ManySelection['order'] {
    const sql = `${alias}.${this.quote(keyColumn(target))}`;
    const isNumber = isNumberKey(valueKindOf(keyOf(target), this.mapper.driver.getPlatform()), target);
    return { sql, textColumn: isNumber ? null : inner.add(sql) };
  }

  /** The order that the model gives to a to-many, where it is one by columns of its items; at last by key. */
  #ownOrder(property: EntityProperty, target: EntityMetadata, alias: string): ManySelection['order'] {
    const terms = [property.orderBy].flat().flatMap((map) => Object.entries(map ?? {}));
    const columns = terms.map(([name, direction]) => {
      const ordered = target.properties[name as never] as EntityProperty | undefined;
      const isPlain = ordered?.kind === ReferenceKind.SCALAR && ordered.fieldNames?.length === 1;
      if (!isPlain || ordered.formula || ordered.customOrder || !/^(asc|desc)$/i.test(String(direction)))
        throw new NeedsEntity(`${String(property.name)} is ordered by more than columns of its items`);
      return `${alias}.${this.quote(ordered.fieldNames[0] as string)} ${direction}`;
    });
    return { sql: [...columns, `${alias}.${this.quote(keyColumn(target))}`].join(', '), textColumn: null };
  }

  #byForeignKey(property: EntityProperty, target: EntityMetadata, alias: string) {
    const inverse = target.properties[property.mappedBy as never] as EntityProperty;
    const columns = inverse.joinColumns ?? inverse.fieldNames;
    if (columns.length !== 1 || inverse.polymorphic)
      throw new NeedsEntity(`${target.className}.${String(inverse.name)} is no single column`);
    return {
      table: `${this.table(target)} as ${alias}`,
      owner: `${alias}.${this.quote(columns[0] as string)}`,
      joins: [] as string[],
    };
  }

  #throughPivot(property: EntityProperty, target: EntityMetadata, alias: string) {
    const { joinColumns, inverseJoinColumns, pivotTable } = property;
    if (joinColumns.length !== 1 || inverseJoinColumns.length !== 1 || !pivotTable || joinColumns[0] === inverseJoinColumns[0])
      throw new NeedsEntity(`${String(property.name)} has no plain pivot table`);
    const pivot = this.alias();
    const join = `inner join ${this.table(target)} as ${alias} on ${alias}.${this.quote(keyColumn(target))} = ${pivot}.${this.quote(inverseJoinColumns[0] as string)}`;
    const name = pivotTable
      .split('.')
      .map((part) => this.quote(part))
      .join('.');
    return { table: `${name} as ${pivot}`, owner: `${pivot}.${this.quote(joinColumns[0] as string)}`, joins: [join] };
  }
}

/** The columns and joins of one statement, as they are gathered. */
class Selection {
  readonly #planner: RowPlanner;
  readonly #columns: string[] = [];
  readonly #joins: string[] = [];
  readonly #joined = new Map<string, string>();
  readonly #table: string;
  readonly pending: PendingMany[] = [];

  constructor(planner: RowPlanner, table: string, alias: string) {
    this.#planner = planner;
    this.#table = `${table} as ${alias}`;
  }

  done(object: RowObject): RowSelection {
    return { columns: this.#columns, table: this.#table, joins: this.#joins, object };
  }

  /** Adds a column, by its name in a table or as it stands in SQL, and gives it as it stands in SQL. */
  column(alias: string | null, name: string): string {
    const sql = alias === null ? name : `${alias}.${this.#planner.quote(name)}`;
    this.add(sql);
    return sql;
  }

  add(sql: string): number {
    const known = this.#columns.indexOf(sql);
    return known >= 0 ? known : this.#columns.push(sql) - 1;
  }

  object(plan: FieldPlan, meta: EntityMetadata, alias: string, presence: number | null): RowObject {
    const variants = [...plan.variants];
    const stricter = variants.find(([concrete]) => filtersMore(concrete, meta));
    if (stricter) throw new NeedsEntity(`${stricter[0].className} has a filter that ${meta.className} has not`);
    const several = variants.length > 1 || (hasDiscriminator(meta) && meta.root === meta);
    const discriminator = several ? this.add(`${alias}.${this.#planner.quote(discriminatorColumn(meta))}`) : null;
    return {
      presence,
      discriminator,
      variants: variants.map(
        ([concrete, fields]): RowVariant => ({
          type: several ? String(concrete.discriminatorValue) : null,
          fields: fields.map((field) => this.#field(field, concrete, alias)),
          ...this.#instanceOf(fields, concrete, alias),
        }),
      ),
    };
  }

  /** Makes the objects that voters are shown, from all columns of the root's own table; a text says why there are none. */
  subject(meta: EntityMetadata): MakeInstance | string {
    try {
      return planInstance(meta, this.#instanceColumns(rootTableAlias, null));
    } catch (error) {
      if (error instanceof NoInstance) return error.message;
      throw error;
    }
  }

  /** Makes instances of a class that go by an alias, with what a plan shows of their associations. */
  instance(meta: EntityMetadata, alias: string, plan: FieldPlan): MakeInstance {
    try {
      return planInstance(meta, this.#instanceColumns(alias, plan));
    } catch (error) {
      throw error instanceof NoInstance ? new NeedsEntity(error.message) : error;
    }
  }

  /** The instance that code of the model is called on, if a field is made by such code. */
  #instanceOf(fields: readonly Field[], concrete: EntityMetadata, alias: string): Pick<RowVariant, 'instance'> {
    if (!fields.some((field) => field.metadata.serializer || (field.kind === 'scalar' && isComputed(field)))) return {};
    return { instance: this.instance(concrete, alias, { variants: new Map([[concrete, fields]]) }) };
  }

  #instanceColumns(alias: string, plan: FieldPlan | null): InstanceColumns {
    return {
      mapper: this.#planner.mapper,
      alias,
      add: (sql) => this.add(sql),
      quote: (name) => this.#planner.quote(name),
      loaded: (property, concrete) => {
        const field = plan?.variants.get(concrete)?.find((candidate) => candidate.metadata === property);
        if (field?.kind === 'to-one') return this.#loadedOne(field, concrete, alias);
        return field?.kind === 'to-many' ? this.#loadedMany(field, concrete, alias) : null;
      },
    };
  }

  /** An associated row that the plan shows is joined already; of one that shows only its key, nothing more is read. */
  #loadedOne({ metadata: property, plan }: AssociationField, meta: EntityMetadata, alias: string): InstanceValue | null {
    const showsMore = [...plan.variants.values()].some((fields) => fields.some(({ metadata }) => !metadata.primary));
    if (!showsMore || property.mapToPk) return null;
    const makers = targetsOf(property).map((target) => {
      const joined = this.#join(property, target, meta, alias);
      const presence = this.add(`${joined}.${this.#planner.quote(keyColumn(target))}`);
      return { presence, make: this.instance(target, joined, plan) };
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
    const column = this.add(`${alias}.${this.#planner.quote(keyColumn(meta))}`);
    const source = this.#source(field, column);
    const { items } = this.#planner;
    if (!items.has(source)) items.set(source, null);
    return { kind: 'many', property: field.metadata, source, column, items: () => items.get(source) as MakeInstance };
  }

  /** A field that code of the model makes: a getter, or a serializer of its own. */
  #computed(field: Field, meta: EntityMetadata): RowField {
    const { embed } = this.#planner;
    if (!embed) throw new NeedsEntity(`${meta.className}.${field.property} is computed by the model`);
    const own = field.metadata.serializer;
    const { name, property } = field;
    const computedBy = own
      ? (entity: Record<string, unknown>) => own(entity[property] ?? null)
      : (entity: Record<string, unknown>) => entity[property];
    const read: ReadComputed = (entity, seen) =>
      embed(computedBy(entity as Record<string, unknown>), this.#planner.visibleRowsOf(seen)) ?? null;
    return { kind: 'computed', name, read };
  }

  /** The same for what stands in another object. */
  embeddedObject(plan: FieldPlan, meta: EntityMetadata, alias: string, presence: number | null): RowObject {
    const object = this.object(plan, meta, alias, presence);
    const metas = [...plan.variants.keys()];
    const variants = object.variants.map((variant, i) => this.#planner.inSight(variant, metas[i] as EntityMetadata));
    if (variants.every(({ seen }) => seen === undefined)) return object;
    return { ...object, variants, key: this.add(`${alias}.${this.#planner.quote(keyColumn(meta))}`) };
  }

  #field(field: Field, meta: EntityMetadata, alias: string): RowField {
    if (field.metadata.serializer || (field.kind === 'scalar' && isComputed(field))) return this.#computed(field, meta);
    switch (field.kind) {
      case 'scalar':
        return this.#scalar(field, meta, alias);
      case 'embedded':
        return this.#embedded(field, meta, alias);
      case 'to-one':
        return this.#toOne(field, meta, alias);
      case 'to-many': {
        const column = this.add(`${alias}.${this.#planner.quote(keyColumn(meta))}`);
        return { kind: 'to-many', name: field.name, source: this.#source(field, column), column };
      }
    }
  }

  /** The statement of a to-many; what classes inherit from one another is fetched once for all of them. */
  #source(field: AssociationField, parentColumn: number): number {
    const { mappedBy, pivotTable, targetMeta } = field.metadata;
    const known = this.pending.find(
      ({ field: other, parentColumn: column }) =>
        column === parentColumn &&
        other.property === field.property &&
        other.metadata.targetMeta === targetMeta &&
        other.metadata.mappedBy === mappedBy &&
        other.metadata.pivotTable === pivotTable &&
        isSamePlan(other.plan, field.plan),
    );
    if (known) return known.source;
    const source = this.#planner.source();
    this.pending.push({ field, source, parentColumn });
    return source;
  }

  #scalar(field: ScalarField, meta: EntityMetadata, alias: string): RowField {
    const { metadata: property, name, value } = field;
    if (property.formula) return this.#formula(field, meta, alias);
    if (property.fieldNames?.length !== 1) throw new NeedsEntity(`${meta.className}.${field.property} is no single column`);
    return this.#value(name, value, `${alias}.${this.#planner.quote(property.fieldNames[0] as string)}`, property);
  }

  /** What the database computes. Rows that are text tell nothing of what else it could be. */
  #formula({ metadata: property, name, value }: ScalarField, meta: EntityMetadata, alias: string): RowField {
    if (this.#planner.dialect.values.readsText && value.kind !== 'string')
      throw new NeedsEntity(
        `${meta.className}.${String(property.name)} is computed by the database, in a type of its own choice`,
      );
    const driver = this.#planner.mapper.driver as unknown as FormulaDriver;
    const table = driver.createFormulaTable(this.#planner.quote(alias), meta);
    const sql = driver.evaluateFormula(property.formula, meta.createColumnMappingObject(alias), table);
    return this.#value(name, value, sql, property);
  }

  #value(name: string, value: ValueKind, sql: string, property: EntityProperty): RowField {
    const { mapper } = this.#planner;
    const { sql: syntax, values } = this.#planner.dialect;
    const custom = property.customType as Type<unknown> | undefined;
    if (value.kind === 'any' || property.hasConvertToJSValueSQL)
      throw new NeedsEntity(`${String(property.name)} has a type that only MikroORM converts`);
    if (value.kind === 'custom') return this.#customValue(name, value, sql, property);
    const isList = custom instanceof ArrayType;
    if (values.readsText && !property.formula) refuseOtherColumn(value, property, isList);
    if (isList) {
      const read = mapperRead(value, property, mapper);
      const column = this.add(syntax.listColumn(sql));
      if (!values.readsText) return { kind: 'value', name, column, value, convert: read };
      return { kind: 'value', name, column, value, convert: (given) => read(JSON.parse(given as string)) };
    }
    if (value.kind === 'decimal' || value.kind === 'interval' || (value.kind === 'date' && !(custom instanceof DateType)))
      return { kind: 'value', name, column: this.add(sql), value, convert: mapperRead(value, property, mapper) };
    const column = value.kind === 'datetime' ? syntax.timeColumn(sql, columnType(property)) : sql;
    return { kind: 'value', name, column: this.add(column), value };
  }

  /** A type of the application's own converts the value to JavaScript, and that to JSON. */
  #customValue(name: string, value: ValueKind, column: string, property: EntityProperty): RowField {
    try {
      const { read, sql } = columnReader(this.#planner.mapper, property, column);
      const write = toJson(value);
      return { kind: 'value', name, column: this.add(sql), value, convert: (given) => write(read ? read(given) : given) };
    } catch (error) {
      throw error instanceof NoInstance ? new NeedsEntity(error.message) : error;
    }
  }

  #embedded(field: EmbeddedField, meta: EntityMetadata, alias: string): RowField {
    return this.#embeddedAs(field, field.metadata, `${meta.className}.${field.property}`, alias);
  }

  /** `property` is the embeddable's place in the table, which knows the names of its columns. */
  #embeddedAs(embedded: EmbeddedField, property: EntityProperty, path: string, alias: string): RowField {
    const { name, plan } = embedded;
    const hides = hidesParts(embedded);
    const variants = [...plan.variants.values()];
    const fields = variants[0];
    if (variants.length !== 1 || !fields) throw new NeedsEntity(`${path} can be one of several classes`);
    if (property.object || property.array) {
      const read = embeddedReader(fields, property, this.#planner.mapper, path, hides);
      const column = this.add(`${alias}.${this.#planner.quote(property.fieldNames[0] as string)}`);
      return { kind: 'value', name, column, value: { kind: 'json' }, convert: (given) => read(parsedJson(given)) };
    }
    const inner = fields.map((field): RowField => {
      const place = property.embeddedProps[field.property] as EntityProperty | undefined;
      if (!place || field.metadata.serializer || (field.kind === 'scalar' && (field.computed || field.metadata.formula)))
        throw new NeedsEntity(`${path}.${field.property} is computed by the model`);
      if (field.kind === 'embedded') return this.#embeddedAs(field, place, `${path}.${field.property}`, alias);
      if (field.kind !== 'scalar' || place.fieldNames?.length !== 1) throw new NeedsEntity(`${path} holds more than columns`);
      return this.#value(field.name, field.value, `${alias}.${this.#planner.quote(place.fieldNames[0] as string)}`, place);
    });
    const deciding = hides ? shownColumns(fields, property) : decidingColumns(property);
    const columns = deciding?.map((column) => this.add(`${alias}.${this.#planner.quote(column)}`)) ?? null;
    return { kind: 'embedded', name, columns, fields: inner };
  }

  #toOne(field: AssociationField, meta: EntityMetadata, alias: string): RowField {
    const { metadata: property, name, plan } = field;
    refuseUnusual(property);
    const reference = this.#bareReference(field, alias);
    if (reference) return reference;
    const targets = property.polymorphTargets ?? [property.targetMeta as EntityMetadata];
    const objects = targets.map((target) => this.#objectOf(property, target, plan, meta, alias));
    return { kind: 'to-one', name, objects };
  }

  /** A reference that shows nothing but its key stands in the row already. */
  #bareReference({ metadata: property, name, plan }: AssociationField, alias: string): RowField | null {
    const variants = [...plan.variants];
    const [target, fields] = variants[0] ?? [];
    const ownsColumn =
      property.fieldNames?.length === 1 &&
      !property.polymorphic &&
      (property.owner || property.kind === ReferenceKind.MANY_TO_ONE);
    if (variants.length !== 1 || !target || !fields || !ownsColumn || fields.some(({ metadata }) => !metadata.primary))
      return null;
    const column = this.add(`${alias}.${this.#planner.quote(property.fieldNames[0] as string)}`);
    const inner = fields.map((field): RowField => {
      if (field.kind !== 'scalar' || field.metadata.serializer)
        throw new NeedsEntity(`${target.className}.${field.property} is no plain key`);
      const sql = `${alias}.${this.#planner.quote(property.fieldNames[0] as string)}`;
      return this.#value(field.name, field.value, sql, field.metadata);
    });
    const variant = this.#planner.inSight({ type: null, fields: inner }, target);
    return { kind: 'to-one', name, objects: [{ presence: column, discriminator: null, variants: [variant], key: column }] };
  }

  #objectOf(property: EntityProperty, target: EntityMetadata, plan: FieldPlan, meta: EntityMetadata, alias: string): RowObject {
    const own = new Map([...plan.variants].filter(([concrete]) => isKindOf(concrete, target)));
    const joined = this.#join(property, target, meta, alias);
    const key = `${joined}.${this.#planner.quote(keyColumn(target))}`;
    return this.embeddedObject({ variants: own }, target, joined, this.add(key));
  }

  /** The name of a joined table; what classes inherit from one another is joined once for all of them. */
  #join(property: EntityProperty, target: EntityMetadata, meta: EntityMetadata, alias: string): string {
    const textOf = (joined: string): string => {
      const key = `${joined}.${this.#planner.quote(keyColumn(target))}`;
      const own = this.#joinCondition(property, target, joined, key, meta, alias);
      const conditions = [own, ...this.#planner.discriminatorOf(target, joined)];
      return `left join ${this.#planner.table(target)} as ${joined} on ${conditions.join(' and ')}`;
    };
    const form = textOf('?');
    const known = this.#joined.get(form);
    if (known) return known;
    const joined = this.#planner.alias();
    this.#joined.set(form, joined);
    this.#joins.push(textOf(joined));
    return joined;
  }

  #joinCondition(
    property: EntityProperty,
    target: EntityMetadata,
    joined: string,
    key: string,
    meta: EntityMetadata,
    alias: string,
  ): string {
    const quote = (name: string) => this.#planner.quote(name);
    if (property.polymorphic) {
      const [type, ...columns] = property.fieldNames;
      const value = Object.entries(property.discriminatorMap ?? {}).find(([, cls]) => cls === target.class)?.[0];
      if (columns.length !== 1 || value === undefined) throw new NeedsEntity(`${String(property.name)} has more than one key`);
      return `${key} = ${alias}.${quote(columns[0] as string)} and ${alias}.${quote(type as string)} = '${value.replaceAll("'", "''")}'`;
    }
    if (property.owner || property.kind === ReferenceKind.MANY_TO_ONE) {
      if (property.fieldNames.length !== 1) throw new NeedsEntity(`${String(property.name)} has more than one column`);
      return `${key} = ${alias}.${quote(property.fieldNames[0] as string)}`;
    }
    const inverse = target.properties[property.mappedBy as never] as EntityProperty;
    if (inverse.fieldNames?.length !== 1) throw new NeedsEntity(`${String(property.name)} has more than one column`);
    return `${joined}.${quote(inverse.fieldNames[0] as string)} = ${alias}.${quote(keyColumn(meta))}`;
  }
}

function isComputed({ computed, metadata }: ScalarField): boolean {
  return computed || metadata.hydrate === false;
}

/** Whether two plans show the same: that of a class may be cut where that of another is not. */
function isSamePlan(one: FieldPlan, other: FieldPlan): boolean {
  if (one.variants.size !== other.variants.size) return false;
  return [...one.variants].every(([meta, fields]) => {
    const others = other.variants.get(meta);
    return others?.length === fields.length && fields.every((field, i) => isSameField(field, others[i] as Field));
  });
}

function isSameField(one: Field, other: Field): boolean {
  if (one.metadata !== other.metadata || one.kind !== other.kind) return false;
  return one.kind === 'scalar' || other.kind === 'scalar' || isSamePlan(one.plan, other.plan);
}

function keyColumn(meta: EntityMetadata): string {
  const columns = keyOf(meta).fieldNames;
  if (meta.compositePK || columns.length !== 1) throw new NeedsEntity(`${meta.className} has a key of several columns`);
  return columns[0] as string;
}

/** Whether the keys of a to-many's rows are ordered as numbers; text is ordered by code unit. */
function isNumberKey(kind: ValueKind, meta: EntityMetadata): boolean {
  if (kind.kind === 'enum') return kind.items.every((item) => typeof item === 'number');
  if (kind.kind === 'integer' || (kind.kind === 'bigint' && kind.as !== 'string')) return true;
  if (kind.kind === 'string' || kind.kind === 'uuid' || kind.kind === 'bigint') return false;
  throw new NeedsEntity(`the key of ${meta.className} has an order of its own`);
}

/** The parts of MikroORM's SQL driver that write formulas. */
interface FormulaDriver {
  createFormulaTable(alias: string, meta: EntityMetadata): unknown;
  evaluateFormula(formula: unknown, columns: unknown, table: unknown): string;
}

function columnType(property: EntityProperty): string {
  return String(property.columnTypes?.[0] ?? '').toLowerCase();
}

/** Columns for which PostgreSQL's driver gives what the kind of the property says. */
const ownColumns: Partial<Record<ValueKind['kind'], RegExp>> = {
  integer: /^(int|integer|int4|int2|smallint|serial|smallserial)$/,
  bigint: /^(bigint|int8|bigserial)$/,
  float: /^(double precision|float8|double|float|real|float4)/,
  real: /^(double precision|float8|double|float|real|float4)/,
  decimal: /^(numeric|decimal)/,
  boolean: /^bool/,
  blob: /^bytea/,
  json: /^jsonb?$/,
  date: /^date$/,
  datetime: /^timestamp/,
};

/** Types whose values PostgreSQL's driver does not give as text. */
const notText = /^(bool|int|integer|smallint|serial|bigserial|oid|real|float|double|json|bytea|point|circle|interval)|\[\]$/;

function refuseOtherColumn(value: ValueKind, property: EntityProperty, isList: boolean): void {
  const type = columnType(property);
  const numbers = value.kind === 'enum' && value.items.some((item) => typeof item === 'number');
  const expected = numbers ? ownColumns.integer : ownColumns[value.kind];
  const isOwn = isList
    ? /^(text|varchar|character varying)(\(\d+\))?\[\]$/.test(type)
    : expected
      ? expected.test(type)
      : !notText.test(type);
  if (!isOwn && !(value.kind === 'interval' && type.startsWith('interval')))
    throw new NeedsEntity(`${String(property.name)} has a column of the type ${type}`);
}

/** What stands in JSON for a value of the database's, as the mapper's own type reads it. */
function mapperRead(value: ValueKind, property: EntityProperty, mapper: Mapper): (given: unknown) => unknown {
  const platform = mapper.driver.getPlatform();
  const custom = property.customType as Type<unknown> | undefined;
  const write = toJson(value);
  // the mapper is given no BigInt either
  const plain = (given: unknown) => (typeof given === 'bigint' ? integerToJson(given) : given);
  if (custom) return (given) => write(custom.convertToJSValue(plain(given), platform));
  return property.runtimeType === 'Date' ? (given) => write(dateOf(given)) : write;
}

/** The columns that are null together where there is no embedded object; null where the mapper makes one in any case. */
function decidingColumns(property: EntityProperty): string[] | null {
  const columns: string[] = [];
  for (const inner of Object.values(property.embeddedProps) as EntityProperty[]) {
    if (inner.kind === ReferenceKind.EMBEDDED && !inner.object && !inner.array) {
      const nested = decidingColumns(inner);
      if (nested === null) return null;
      columns.push(...nested);
    } else if (!property.nullable) {
      return null;
    } else columns.push(...(inner.fieldNames ?? []));
  }
  return columns;
}

/** The columns of what is shown of an embedded object. */
function shownColumns(fields: readonly Field[], property: EntityProperty): string[] {
  return fields.flatMap((field) => {
    const place = property.embeddedProps[field.property] as EntityProperty | undefined;
    if (!place) return [];
    const inner = field.kind === 'embedded' && !place.array ? [...field.plan.variants.values()][0] : null;
    if (inner && place.object) throw new NeedsEntity(`${String(property.name)} hides parts, and holds an object in JSON`);
    return inner ? shownColumns(inner, place) : (place.fieldNames ?? []);
  });
}

/**
 * Reads an embeddable that is kept as JSON, or a list of them, as far as the plan shows it. With `hides`, one of which all that is shown
 * is null is null.
 */
function embeddedReader(
  fields: readonly Field[],
  property: EntityProperty,
  mapper: Mapper,
  path: string,
  hides: boolean,
): (json: unknown) => unknown {
  const readers = fields.map((field) => {
    const place = property.embeddedProps[field.property] as EntityProperty | undefined;
    if (!place || field.metadata.serializer || (field.kind === 'scalar' && (field.computed || field.metadata.formula)))
      throw new NeedsEntity(`${path}.${field.property} is computed by the model`);
    return {
      name: field.name,
      keys: [field.metadata.fieldNames?.[0], field.property],
      read: memberReader(field, place, mapper, path),
    };
  });
  const one = (json: unknown): unknown => {
    const members = json as Record<string, unknown>;
    const target: Record<string, unknown> = {};
    for (const { name, keys, read } of readers) {
      const given = members[keys[0] as string] ?? members[keys[1] as string];
      target[name] = given === null || given === undefined ? null : (read(given) ?? null);
    }
    return hides && isBlank(fields, members, memberIn) ? null : target;
  };
  return (json) => (Array.isArray(json) ? json.map(one) : json === null ? null : one(json));
}

function memberIn(json: object, { metadata, property }: Field): unknown {
  const members = json as Record<string, unknown>;
  return members[metadata.fieldNames?.[0] as string] ?? members[property];
}

function memberReader(field: Field, place: EntityProperty, mapper: Mapper, path: string): (given: unknown) => unknown {
  if (field.kind === 'embedded') {
    const variants = [...field.plan.variants.values()];
    if (variants.length !== 1 || !variants[0]) throw new NeedsEntity(`${path}.${field.property} can be one of several classes`);
    return embeddedReader(variants[0], place, mapper, `${path}.${field.property}`, hidesParts(field));
  }
  if (field.kind !== 'scalar' || field.value.kind === 'any' || field.value.kind === 'custom')
    throw new NeedsEntity(`${path} holds more than plain values`);
  if (!place.customType && place.runtimeType === 'boolean') return (given) => !!given;
  return mapperRead(field.value, place, mapper);
}

function discriminatorColumn(meta: EntityMetadata): string {
  const property = meta.root.properties[meta.root.discriminatorColumn as never] as EntityProperty;
  return property.fieldNames[0] as string;
}

/** Associations that say more than which rows belong together. */
function refuseUnusual(property: EntityProperty): void {
  const unusual =
    property.where ??
    (property.fixedOrder || undefined) ??
    property.mapToPk ??
    property.through ??
    property.filters ??
    property.targetKey;
  if (unusual) throw new NeedsEntity(`${String(property.name)} is restricted by the model, or no plain association`);
}

function isToOne({ kind }: EntityProperty): boolean {
  return kind === ReferenceKind.MANY_TO_ONE || kind === ReferenceKind.ONE_TO_ONE;
}

function hasLoadHooks(meta: EntityMetadata): boolean {
  return (['onLoad', 'onInit'] as const).some((hook) => (meta.hooks?.[hook]?.length ?? 0) > 0);
}
