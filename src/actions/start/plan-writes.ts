import { defaultsOf } from '../../change/plain-body.ts';
import type { HttpMethod } from '../../declaration/types.ts';
import type { ActiveGroups } from '../../model/groups.ts';
import { hasRules } from '../../model/own-code.ts';
import type { SubjectReads } from '../../query/visibility/subject-reads.ts';
import { RowCode } from '../../store/row-code.ts';
import { RowLists } from '../../store/row-lists.ts';
import { RowWrites } from '../../store/row-writes.ts';
import { unitOfWorkReason } from '../../store/unit-of-work.ts';
import { type RowWriting, WriteStore } from '../../store/write-store.ts';
import { hookWith } from '../hooks.ts';
import type { ApiRuntime } from './runtime.ts';
import { checkedRead, plainBody, plainLists, readsSubject, responseRead, rowStore, type WritePlanning } from './write-parts.ts';

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
  const write = writeOf[method] as Write;
  const inEntities = (reason: string) => ({ store: new WriteStore(mapper, meta, entities, null), reason });
  const hook = hookWith(api.overrides, 'changes');
  if (hook) return inEntities(`the controller has ${hook}, which runs during writes`);
  const plain = plainBody(api, groups);
  const isRuled = write !== 'delete' && hasRules(meta);
  const hasCode = isRuled || (write === 'create' && defaultsOf(mapper, meta) === null);
  const construction = write === 'create' ? plain.constructionReason : null;
  if (construction) return inEntities(construction);
  const lists = write === 'update' && !hasCode ? plainLists(api, groups) : null;
  const replacement = method === 'PUT' ? plain.replaceReason(lists ?? new Map()) : null;
  if (replacement) return inEntities(replacement);
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
  const mostBytes = framework.declaration.server.responseLimit;
  const rowLists = lists && lists.size > 0 ? new RowLists({ mapper, meta, lists, writer, mostBytes }) : null;
  const writes = new RowWrites({ mapper, meta, rows, writer, executor, associations, code, lists: rowLists });
  const writing: RowWriting = {
    writes,
    plain,
    checked: rowStore(api, meta, checked, planning),
    hasRules: isRuled,
  };
  return { store: new WriteStore(mapper, meta, entities, writing), reason: null };
}
