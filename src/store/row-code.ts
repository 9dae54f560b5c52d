import { type EntityMetadata, type EntityProperty, helper, isRaw, Reference, ReferenceKind } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { PlainBody } from '../change/plain-body.ts';
import type { ColumnValue, Referred } from '../change/stored-columns.ts';
import type { Mapper } from '../database/mapper.ts';
import { initialValues } from '../model/construction.ts';
import { ownProperties } from '../model/field-plan.ts';
import { entityKey, instanceKey } from '../model/identifier.ts';
import { versionOf } from '../model/version.ts';
import { compileNew, type InstanceContext, NoInstance } from '../query/rows/instance.ts';
import type { SubjectReads } from '../query/visibility/subject-reads.ts';
import { InstanceEffects } from './method-links/instance-effects.ts';
import { stateOf } from './request-state.ts';
import type { SeenReferences } from './row-changes.ts';

/** Validates an object against the rules of its model, and throws if it breaks one. */
export type Check = (entity: object) => Promise<void>;

/** The code of a model that takes part in writing rows: values that it makes, and rules. It runs on objects, not on entities. */
export class RowCode {
  readonly #mapper: Mapper;
  readonly #meta: EntityMetadata;
  readonly #plain: PlainBody;
  readonly #subjects: SubjectReads;
  readonly #make: (context: InstanceContext) => object;

  constructor(mapper: Mapper, meta: EntityMetadata, plain: PlainBody, subjects: SubjectReads) {
    this.#mapper = mapper;
    this.#meta = meta;
    this.#plain = plain;
    this.#subjects = subjects;
    this.#make = compileNew(meta);
  }

  /** Why code for new rows of the model needs entities; null if it does not. */
  static refusal(meta: EntityMetadata, plain: PlainBody): string | null {
    try {
      compileNew(meta);
    } catch (error) {
      if (error instanceof NoInstance) return error.message;
      throw error;
    }
    const made = (meta.props as EntityProperty[]).filter(
      (property) => isMade(property) && !property.version && plain.newColumnsOf(property.name as string, null) === null,
    );
    const embedded = ownProperties(meta).filter(
      ({ kind, name }) => kind === ReferenceKind.EMBEDDED && plain.newColumnsOf(name as string, null) === null,
    );
    const [first] = [...made, ...embedded];
    return first ? `${meta.className}.${String(first.name)} is made by MikroORM` : null;
  }

  /**
   * The existing rows that columns refer to, as objects by column, if the caller sees them; null if only MikroORM can make the
   * objects.
   */
  async referred(
    request: ApiRequest,
    columns: readonly ColumnValue[],
    seen: SeenReferences,
  ): Promise<ReadonlyMap<string, object> | null> {
    const context = this.#contextOf(request);
    const found = new Map<string, object>();
    const reading = columns.map(async ({ column, refersTo }) => {
      if (!refersTo) return true;
      const target = refersTo.field.targets[0] as EntityMetadata;
      const rows = await this.#subjects.rows(target, [refersTo.id], context, seen.get(column));
      const object = rows?.get(String(refersTo.id));
      if (object) found.set(column, refersTo.field.metadata.ref ? Reference.create(object as never) : object);
      return rows !== null;
    });
    if ((await Promise.all(reading)).includes(false)) return null;
    return found;
  }

  /** The same for many rows, with one statement for each column. */
  async referredAll(
    request: ApiRequest,
    rows: readonly (readonly ColumnValue[])[],
    seen: SeenReferences,
  ): Promise<readonly ReadonlyMap<string, object>[] | null> {
    const context = this.#contextOf(request);
    const all = rows.flat().flatMap(({ column, refersTo }) => (refersTo ? [{ column, ...refersTo }] : []));
    const read = new Map<string, ReadonlyMap<string, object>>();
    for (const [column, those] of Map.groupBy(all, (each) => each.column)) {
      const { field } = those[0] as Referred;
      const keys = [...new Set(those.map(({ id }) => id))];
      const found = await this.#subjects.rows(field.targets[0] as EntityMetadata, keys, context, seen.get(column));
      if (!found) return null;
      read.set(column, found);
    }
    return rows.map((columns) => {
      const found = columns.flatMap(({ column, refersTo }): [string, object][] => {
        const object = refersTo && read.get(column)?.get(String(refersTo.id));
        return object ? [[column, refersTo.field.metadata.ref ? Reference.create(object as never) : object]] : [];
      });
      return new Map(found);
    });
  }

  /** The columns of a new row: those of the body, and those that the model makes. */
  async created(
    request: ApiRequest,
    columns: readonly ColumnValue[],
    referred: ReadonlyMap<string, object>,
    check: Check,
  ): Promise<ColumnValue[]> {
    const context = this.#contextOf(request);
    const instance = this.#make(context) as Record<string, unknown>;
    const initial = initialValues(this.#meta, instance).map(({ property }) => property);
    this.#set(instance, columns, referred, context);
    const properties = this.#meta.props as EntityProperty[];
    for (const property of properties) if (property.kind === ReferenceKind.SCALAR) this.#makeValue(instance, property, context);
    const further = await this.#checked(request, instance, check);
    // MikroORM makes references only when it writes
    for (const property of properties)
      if (property.kind === ReferenceKind.MANY_TO_ONE) this.#makeValue(instance, property, context);
    const isGiven = (name: string) => columns.some(({ property }) => property?.name === name);
    const made = [...initial, ...properties.filter(isMade)]
      .filter((property) => !isGiven(property.name as string))
      .map(({ name }) => name as string);
    const names = [...new Set([...further, ...made])].filter((name) => instance[name] !== undefined);
    return this.#merged(columns, names, (name) => this.#plain.newColumnsOf(name, instance[name]));
  }

  /** The columns of a change: those of the body, and those that the rules of the model have set in addition. */
  async changed(
    request: ApiRequest,
    entity: object,
    columns: readonly ColumnValue[],
    referred: ReadonlyMap<string, object>,
    check: Check,
  ): Promise<ColumnValue[]> {
    const instance = entity as Record<string, unknown>;
    this.#set(instance, columns, referred, this.#contextOf(request));
    const names = await this.#checked(request, instance, check);
    return this.#merged(columns, names, (name) => this.#plain.columnsOf(name, instance[name]));
  }

  #contextOf(request: ApiRequest): InstanceContext {
    return { em: () => stateOf(request, this.#mapper).em };
  }

  #set(
    instance: Record<string, unknown>,
    columns: readonly ColumnValue[],
    referred: ReadonlyMap<string, object>,
    context: InstanceContext,
  ): void {
    for (const { column, property } of columns)
      if (property) instance[property.name] = referred.get(column) ?? property.valueFor(context, instance);
  }

  #makeValue(instance: Record<string, unknown>, property: EntityProperty, context: InstanceContext): void {
    const name = property.name as string;
    const { default: literal, onCreate } = property;
    if (onCreate) instance[name] ??= onCreate(instance as never, (onCreate.length > 1 ? context.em() : undefined) as never);
    else if (isMade(property) && instance[name] === undefined) instance[name] = literal;
  }

  /** Runs the rules, and returns the properties that they have changed. */
  async #checked(request: ApiRequest, instance: Record<string, unknown>, check: Check): Promise<string[]> {
    const effects = new InstanceEffects();
    effects.watch([{ instance, meta: this.#meta, key: '' }]);
    await check(instance);
    const changed = effects.changesOf(instance);
    if (effects.isMore(() => false, new Set([instance])) || this.#changedEntities(request, instance))
      throw new Error(`the rules of ${this.#meta.className} changed another entity, which only a hook can change`);
    return changed;
  }

  /** Whether rules have changed entities that they have loaded, other than the one of the instance itself, which is only read. */
  #changedEntities(request: ApiRequest, instance: Record<string, unknown>): boolean {
    const state = stateOf(request, this.#mapper);
    if (state.managedEntities === 0) return false;
    const uow = state.em.getUnitOfWork();
    uow.computeChangeSets();
    const key = instanceKey(this.#meta, instance);
    const isOwn = (entity: object) => helper(entity).__meta === this.#meta && String(entityKey(entity)) === String(key);
    const others = uow.getChangeSets().filter(({ entity }) => !isOwn(entity as object));
    return others.length > 0 || uow.getRemoveStack().size > 0 || uow.getCollectionUpdates().length > 0;
  }

  /** Columns that code has set replace those of the body. */
  #merged(
    columns: readonly ColumnValue[],
    names: readonly string[],
    columnsOf: (name: string) => readonly ColumnValue[] | null,
  ): ColumnValue[] {
    const version = versionOf(this.#meta)?.name;
    const set = names.flatMap((name) => {
      // only the database sets it
      if (name === version) return [];
      const stored = columnsOf(name);
      if (stored) return stored;
      throw new Error(`the rules of ${this.#meta.className} changed "${name}", which only a hook can change`);
    });
    if (set.length === 0) return [...columns];
    const kept = columns.filter(({ column }) => !set.some((other) => other.column === column));
    // the same columns make the same statement, in whatever order they were set
    return [...kept, ...set].sort((a, b) => (a.column < b.column ? -1 : 1));
  }
}

/** Whether the model makes a value for a new row that has none. */
function isMade({ default: literal, onCreate, persist }: EntityProperty): boolean {
  if (persist === false) return false;
  return onCreate !== undefined || (literal !== undefined && literal !== null && !isRaw(literal));
}
