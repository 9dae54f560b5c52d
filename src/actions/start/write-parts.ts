import type { EntityMetadata } from '@mikro-orm/core';
import { PlainBody } from '../../change/plain-body.ts';
import type { PlainList } from '../../change/plain-lists.ts';
import type { References } from '../../change/stored-columns.ts';
import type { Cursors } from '../../database/cursor.ts';
import type { Executor } from '../../database/executor.ts';
import type { Writer } from '../../database/writer.ts';
import type { HttpMethod } from '../../declaration/types.ts';
import type { FieldPlan } from '../../model/field-plan.ts';
import type { ActiveGroups } from '../../model/groups.ts';
import { identifierParser, isComposite } from '../../model/identifier.ts';
import { hasAccessor } from '../../model/own-code.ts';
import { canHideRows } from '../../query/entities/filters.ts';
import { CompiledRead } from '../../query/rows/compiled-read.ts';
import { EntityStore } from '../../store/entity-store.ts';
import { pivotFor } from '../../store/plain-pivot.ts';
import { RowStore } from '../../store/row-store.ts';
import type { ApiRuntime } from './runtime.ts';

/** The input for compiled writes. */
export interface WritePlanning {
  readonly executor: Executor;
  readonly writer: Writer;
  readonly cursors: Cursors;
}

export function rowStore(api: ApiRuntime, meta: EntityMetadata, read: CompiledRead, { cursors }: WritePlanning): RowStore {
  const { framework } = api;
  const { mapper } = framework;
  const sort = meta === api.meta ? api.api.defaultSort : [];
  const entities = meta === api.meta ? api.entities : new EntityStore(mapper, meta, sort);
  return new RowStore(mapper, meta, read, {
    sort,
    entities,
    visibilityOf: (request) => framework.visibilityOf(request),
    cursors,
  });
}

/** Whether a voter reads the row: that of the action, or that of a group. */
export function readsSubject(api: ApiRuntime, action: string, method: HttpMethod): boolean {
  return api.guardOf(action, method).readsSubject || api.grantsOf(action, method).readsSubject;
}

/** The reads for responses to writes, shared by all writes of a model in the same groups. A text says why one cannot be compiled. */
const responseReads = new WeakMap<Executor, Map<FieldPlan, CompiledRead | string>>();

export function responseRead(
  { framework }: ApiRuntime,
  meta: EntityMetadata,
  groups: ActiveGroups,
  executor: Executor,
): CompiledRead | string {
  const known = responseReads.get(executor) ?? new Map<FieldPlan, CompiledRead | string>();
  responseReads.set(executor, known);
  const serializer = framework.serializer(groups);
  // the serializer makes one plan for each class
  const plan = serializer.planFor(meta);
  let read = known.get(plan);
  if (read === undefined) {
    const isLimited = (embedded: EntityMetadata) => framework.visibility.limitsOf(embedded).length > 0;
    const compiled = CompiledRead.compile(framework.mapper, meta, plan, [], executor, {
      isLimited,
      withVersion: true,
      embed: serializer.embed,
    });
    read = compiled instanceof CompiledRead ? compiled : compiled.needsEntity;
    known.set(plan, read);
  }
  return read;
}

/** The read of a row for its access check: none of its fields are sent. */
export function checkedRead(
  { framework }: ApiRuntime,
  meta: EntityMetadata,
  withSubject: boolean,
  executor: Executor,
): CompiledRead | string {
  const nothing: FieldPlan = { variants: new Map([[meta, []]]) };
  const compiled = CompiledRead.compile(framework.mapper, meta, nothing, [], executor, {
    withSubject,
    withVersion: true,
    withRowVersion: true,
  });
  if (!(compiled instanceof CompiledRead)) return compiled.needsEntity;
  return withSubject ? (compiled.subjectRefusal ?? compiled) : compiled;
}

/** A class whose rows an API writes: its model, or one of several. */
export type OfClass = Pick<ApiRuntime, 'framework' | 'meta'>;

export function plainBody(api: OfClass, groups: ActiveGroups): PlainBody {
  const { framework, meta } = api;
  return new PlainBody(
    framework.mapper,
    framework.deserializer(groups).planFor(meta),
    ({ property, targets }) => referencesTo(api, property, targets[0] as EntityMetadata),
    (target) => framework.visibility.isOpen(target),
  );
}

/** The lists of references in a body that statements can write, by their names. */
export function plainLists(api: OfClass, groups: ActiveGroups): ReadonlyMap<string, PlainList> {
  const { framework, meta } = api;
  const { mapper } = framework;
  const lists = new Map<string, PlainList>();
  if (isComposite(meta)) return lists;
  for (const { kind, metadata: property, name, unseen } of framework.deserializer(groups).planFor(meta).fields.values()) {
    const pivot = kind === 'to-many' ? pivotFor(mapper, meta, property) : null;
    const target = property.targetMeta;
    if (!pivot || !target || isComposite(target) || hasAccessor(meta, property.name as string)) continue;
    // links to rows that a caller does not see stay, and MikroORM knows which
    if (!framework.visibility.isOpen(target) || !referencesTo(api, property.name as string, target)) continue;
    lists.set(name, { name, unseen, target, pivot, parseId: identifierParser(target, mapper.driver.getPlatform(), 'json') });
  }
  return lists;
}

/** The rows of the target that callers may put into an association; null if that needs more than a key. */
export function referencesTo({ framework, meta }: OfClass, property: string, target: EntityMetadata): References | null {
  if (framework.associations.denormalizes(meta, property) || canHideRows(target)) return null;
  if (framework.visibility.isOpen(target)) return { may: () => true, decide: async () => {}, rows: () => 'all' };
  return {
    may: (request, id) => framework.visibilityOf(request).sees(target, id),
    decide: (request, ids) => framework.visibilityOf(request).seen(target, new Map(ids.map((id) => [String(id), id]))),
    rows: async (request) => {
      const seen = await framework.visibilityOf(request).seenClasses([target]);
      return seen && (seen[0] ?? 'all');
    },
  };
}
