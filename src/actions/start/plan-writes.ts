import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { accessorsFor } from '../../change/accessors.ts';
import { defaultsOf, PlainBody, type References } from '../../change/plain-body.ts';
import type { Cursors } from '../../database/cursor.ts';
import type { Executor } from '../../database/executor.ts';
import type { Writer } from '../../database/writer.ts';
import type { ActionDeclaration, HttpMethod } from '../../declaration/types.ts';
import type { FieldPlan } from '../../model/field-plan.ts';
import type { ActiveGroups } from '../../model/groups.ts';
import { identifierParser, isComposite } from '../../model/identifier.ts';
import { hasRules } from '../../model/own-code.ts';
import { canHideRows } from '../../query/entities/filters.ts';
import { CompiledRead } from '../../query/rows/compiled-read.ts';
import type { SubjectReads } from '../../query/visibility/subject-reads.ts';
import { EntityStore } from '../../store/entity-store.ts';
import { LinkStore, type RowLinking } from '../../store/link-store.ts';
import { MethodLinks } from '../../store/method-links.ts';
import { RowCode } from '../../store/row-code.ts';
import { pivotFor, RowLinks } from '../../store/row-links.ts';
import { RowStore } from '../../store/row-store.ts';
import { RowWrites } from '../../store/row-writes.ts';
import { unitOfWorkReason } from '../../store/unit-of-work.ts';
import { type RowWriting, WriteStore } from '../../store/write-store.ts';
import { hookWith } from '../hooks.ts';
import type { ApiRuntime } from './runtime.ts';

/** The input for compiled writes. */
export interface WritePlanning {
  readonly executor: Executor;
  readonly writer: Writer;
  readonly cursors: Cursors;
}

type Write = 'create' | 'update' | 'delete';

const writeOf: Readonly<Record<string, Write>> = { POST: 'create', PATCH: 'update', PUT: 'update', DELETE: 'delete' };

/**
 * The store for a writing method of `_index` or `_entity`, for callers with some groups. `reason` says why compiled statements
 * cannot write, or is null.
 */
export function planWrite(
  api: ApiRuntime,
  action: string,
  method: HttpMethod,
  planning: WritePlanning,
  groups: ActiveGroups,
): { readonly store: WriteStore; readonly reason: string | null } {
  const { entities, framework, meta } = api;
  const { mapper } = framework;
  const write = writeOf[method] as Write;
  const inEntities = (reason: string) => ({ store: new WriteStore(mapper, meta, entities, null), reason });
  const hook = hookWith(api.overrides, 'changes');
  if (hook) return inEntities(`the controller has ${hook}, which runs during writes`);
  // PUT sets fields that were not sent to defaults, which MikroORM knows
  if (method === 'PUT') return inEntities('PUT replaces all fields');
  const plain = plainBody(api, groups);
  const isRuled = write !== 'delete' && hasRules(meta);
  const hasCode = isRuled || (write === 'create' && defaultsOf(mapper, meta) === null);
  const construction = write === 'create' ? plain.constructionReason : null;
  if (construction) return inEntities(construction);
  const refusal = hasCode && write === 'create' ? RowCode.refusal(meta, plain) : null;
  if (refusal) return inEntities(refusal);
  if (isRuled && meta.props.some(({ lazy }) => lazy)) return inEntities(`${meta.className} has lazily loaded columns`);
  const work = unitOfWorkReason(mapper, meta, write);
  if (work) return inEntities(work);
  const shown = responseRead(api, meta, groups, planning.executor);
  const checked = checkedRead(api, meta, isRuled || readsSubject(api, action, method), planning.executor);
  if (typeof shown === 'string') return inEntities(shown);
  if (typeof checked === 'string') return inEntities(checked);
  const { associations } = framework;
  const rows = rowStore(api, meta, shown, planning);
  const { executor, writer } = planning;
  const code = hasCode ? new RowCode(mapper, meta, plain, framework.subjects as SubjectReads) : null;
  const writes = new RowWrites({ mapper, meta, rows, writer, executor, associations, code });
  const writing: RowWriting = {
    writes,
    plain,
    checked: rowStore(api, meta, checked, planning),
    hasRules: isRuled,
  };
  return { store: new WriteStore(mapper, meta, entities, writing), reason: null };
}

/** The store for changes of a declared association. */
export function planLink(
  api: ApiRuntime,
  { association, name }: ActionDeclaration,
  method: HttpMethod,
  planning: WritePlanning,
  groups: ActiveGroups,
): { readonly store: LinkStore; readonly reason: string | null } {
  const { entities, framework, meta } = api;
  const { associations, mapper } = framework;
  const inEntities = (reason: string) => ({ store: new LinkStore(mapper, entities, associations, null), reason });
  const property = meta.properties[association?.property as never] as EntityProperty | undefined;
  const pivot = property && pivotFor(mapper, meta, property);
  const hook = hookWith(api.overrides, 'changes');
  if (hook) return inEntities(`the controller has ${hook}, which runs during writes`);
  if (associations.denormalizesBody(`${api.api.name}.${name}`)) return inEntities('a denormalizer reads its body');
  if (!pivot) return inEntities(`${association?.property} is not a plain pivot table`);
  const target = property.targetMeta as EntityMetadata;
  const methods = accessorsFor(meta, property.name as string, target).methods;
  const hasMethods = (methods.add ?? methods.remove) !== null;
  const hasCode = hasMethods || hasRules(meta);
  if (hasCode && (isComposite(meta) || isComposite(target)))
    return inEntities(`methods or rules of ${meta.className} take part, and a key has several columns`);
  const work = unitOfWorkReason(mapper, meta, 'update');
  if (work) return inEntities(work);
  const named = association?.types.map(({ value }) => mapper.getMetadata().get(value as never).class) ?? [];
  const references = referencesTo(api, property.name as string, target);
  if (!references || named.some((type) => type !== target.class)) return inEntities('its items need more than a key');
  const items = responseRead(api, target, { ...groups, read: groups.embedded }, planning.executor);
  const owners = responseRead(api, meta, groups, planning.executor);
  const checked = checkedRead(api, meta, hasCode || readsSubject(api, name, method), planning.executor);
  if (typeof items === 'string') return inEntities(items);
  if (typeof owners === 'string') return inEntities(owners);
  if (typeof checked === 'string') return inEntities(checked);
  const given = hasCode ? checkedRead(api, target, true, planning.executor) : null;
  if (typeof given === 'string') return inEntities(given);
  const { executor, writer } = planning;
  const shownOwners = rowStore(api, meta, owners, planning);
  const shownItems = rowStore(api, target, items, planning);
  const writes = new RowWrites({ mapper, meta, rows: shownOwners, writer, executor, associations, code: null });
  const common = { mapper, meta, property, pivot, executor, writer, owners: writes.changes, entities };
  const linking: RowLinking = {
    target,
    references,
    parseId: identifierParser(target, mapper.driver.getPlatform(), 'json'),
    links: given
      ? new MethodLinks({ ...common, shownOwners, shownItems, items: given, plain: plainBody(api, groups) })
      : new RowLinks(mapper, target, pivot, { owners: writes.changes, items, writer }),
    items: shownItems,
    writes,
    checked: rowStore(api, meta, checked, planning),
  };
  return { store: new LinkStore(mapper, entities, associations, linking), reason: null };
}

function rowStore(api: ApiRuntime, meta: EntityMetadata, read: CompiledRead, { cursors }: WritePlanning): RowStore {
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
function readsSubject(api: ApiRuntime, action: string, method: HttpMethod): boolean {
  return api.guardOf(action, method).readsSubject || api.grantsOf(action, method).readsSubject;
}

/** The reads for responses to writes, shared by all writes of a model in the same groups. A text says why one cannot be compiled. */
const responseReads = new WeakMap<Executor, Map<FieldPlan, CompiledRead | string>>();

function responseRead(
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
function checkedRead(
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

function plainBody(api: ApiRuntime, groups: ActiveGroups): PlainBody {
  const { framework, meta } = api;
  return new PlainBody(
    framework.mapper,
    framework.deserializer(groups).planFor(meta),
    ({ property, targets }) => referencesTo(api, property, targets[0] as EntityMetadata),
    (target) => framework.visibility.isOpen(target),
  );
}

/** The rows of the target that callers may put into an association; null if that needs more than a key. */
function referencesTo({ framework, meta }: ApiRuntime, property: string, target: EntityMetadata): References | null {
  if (framework.associations.denormalizes(meta, property) || canHideRows(target)) return null;
  if (framework.visibility.isOpen(target)) return { may: () => true, rows: () => 'all' };
  return {
    may: (request, id) => framework.visibilityOf(request).sees(target, id),
    rows: async (request) => {
      const seen = await framework.visibilityOf(request).seenClasses([target]);
      return seen && (seen[0] ?? 'all');
    },
  };
}
