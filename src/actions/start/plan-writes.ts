import type { EntityMetadata } from '@mikro-orm/core';
import { defaultsOf, type PlainBody } from '../../change/plain-body.ts';
import type { PlainList } from '../../change/plain-lists.ts';
import type { HttpMethod } from '../../declaration/types.ts';
import type { ActiveGroups } from '../../model/groups.ts';
import { concreteClasses, hasDiscriminator } from '../../model/hierarchy.ts';
import { hasRules } from '../../model/own-code.ts';
import type { SubjectReads } from '../../query/visibility/subject-reads.ts';
import { RowCode } from '../../store/row-code.ts';
import { RowLists } from '../../store/row-lists.ts';
import { RowWrites } from '../../store/row-writes.ts';
import { unitOfWorkReason } from '../../store/unit-of-work.ts';
import { type ClassWriting, type RowWriting, WriteStore } from '../../store/write-store.ts';
import { hookWith } from '../hooks.ts';
import type { ApiRuntime } from './runtime.ts';
import {
  checkedRead,
  type OfClass,
  plainBody,
  plainLists,
  readsSubject,
  responseRead,
  rowStore,
  type WritePlanning,
} from './write-parts.ts';

type Write = 'create' | 'update' | 'delete';

const writeOf: Readonly<Record<string, Write>> = { POST: 'create', PATCH: 'update', PUT: 'update', DELETE: 'delete' };

/**
 * The store for a writing method of `_index` or `_entity`, for callers with some groups. `reason` says why compiled statements
 * cannot write, or is null. `planning` is a text if they are out of the question.
 */
export function planWrite(
  api: ApiRuntime,
  action: string,
  method: HttpMethod,
  planning: WritePlanning | string,
  groups: ActiveGroups,
): { readonly store: WriteStore; readonly reason: string | null } {
  const { entities, framework, meta } = api;
  if (typeof planning === 'string') return { store: api.entityWrites, reason: planning };
  const { mapper } = framework;
  const inEntities = (reason: string) => ({ store: new WriteStore(mapper, meta, entities, null), reason });
  const hook = hookWith(api.overrides, 'changes');
  if (hook) return inEntities(`the controller has ${hook}, which runs during writes`);
  const isSeveral = hasDiscriminator(meta);
  const classes = isSeveral ? concreteClasses(mapper, meta) : [meta];
  const plans = new Map<EntityMetadata, ClassPlan>();
  for (const each of classes) {
    const plan = planClass({ framework, meta: each }, method, groups);
    if (typeof plan === 'string') return inEntities(plan);
    plans.set(each, plan);
  }
  const isRuled = [...plans.values()].some((plan) => plan.isRuled);
  const shown = responseRead(api, meta, groups, planning.executor);
  const withSubject = isRuled || readsSubject(api, action, method) || (isSeveral && writeOf[method] === 'update');
  const checked = checkedRead(api, meta, withSubject, planning.executor);
  if (typeof shown === 'string') return inEntities(shown);
  if (typeof checked === 'string') return inEntities(checked);
  const rows = rowStore(api, meta, shown, planning);
  const { associations, subjects } = framework;
  const { executor, writer } = planning;
  const writingOf = (own: EntityMetadata, { hasCode, lists, plain }: Omit<ClassPlan, 'isRuled'>): ClassWriting => {
    const code = hasCode ? new RowCode(mapper, own, plain, subjects as SubjectReads) : null;
    const mostBytes = framework.declaration.server.responseLimit;
    const rowLists = lists.size > 0 ? new RowLists({ mapper, meta: own, lists, writer, mostBytes }) : null;
    return { plain, writes: new RowWrites({ mapper, meta: own, rows, writer, executor, associations, code, lists: rowLists }) };
  };
  const written = new Map([...plans].map(([own, plan]) => [own, writingOf(own, plan)]));
  const whole = isSeveral
    ? writingOf(meta, { hasCode: false, lists: new Map(), plain: plainBody(api, groups) })
    : (written.get(meta) as ClassWriting);
  const { typeKey } = framework.deserializer(groups).planFor(meta);
  const writing: RowWriting = {
    ...whole,
    hierarchy: isSeveral ? { typeKey, classes: written } : null,
    checked: rowStore(api, meta, checked, planning),
    hasRules: isRuled,
  };
  return { store: new WriteStore(mapper, meta, entities, writing), reason: null };
}

/** What writing rows of a class takes. */
interface ClassPlan {
  readonly plain: PlainBody;
  readonly isRuled: boolean;
  readonly hasCode: boolean;
  readonly lists: ReadonlyMap<string, PlainList>;
}

/** Plans the writes of a class, or says why statements alone cannot make them. */
function planClass(own: OfClass, method: HttpMethod, groups: ActiveGroups): ClassPlan | string {
  const { framework, meta } = own;
  const { mapper } = framework;
  const write = writeOf[method] as Write;
  const plain = plainBody(own, groups);
  const isRuled = write !== 'delete' && hasRules(meta);
  const hasCode = isRuled || (write === 'create' && defaultsOf(mapper, meta) === null);
  const construction = write === 'create' ? plain.constructionReason : null;
  if (construction) return construction;
  const lists = write === 'update' && !hasCode ? plainLists(own, groups) : new Map<string, PlainList>();
  const replacement = method === 'PUT' ? plain.replaceReason(lists) : null;
  if (replacement) return replacement;
  const refusal = hasCode && write === 'create' ? RowCode.refusal(meta, plain) : null;
  if (refusal) return refusal;
  if (isRuled && meta.props.some(({ lazy }) => lazy)) return `${meta.className} has lazily loaded columns`;
  return unitOfWorkReason(mapper, meta, write) ?? { plain, isRuled, hasCode, lists };
}
