import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiRequest } from '../access/user.ts';
import type { Format, HttpMethod } from '../declaration/types.ts';
import { canHideRows } from '../query/entities/filters.ts';
import { readVersion } from '../query/rows/row-version.ts';
import type { RouteHandler } from '../route/mount.ts';
import type { Admission } from '../store/port.ts';
import { stateOf, withState } from '../store/request-state.ts';
import { inTransaction } from '../store/transaction.ts';
import { untilCommit } from './after-commit.ts';
import { BulkReply } from './bulk/bulk-reply.ts';
import { ExportReply, isExport } from './export/export-reply.ts';
import type { GroupGrants } from './group-grants.ts';
import { EarlyReply, hookNeeds, runHook } from './hooks.ts';
import type { Exchange, IdempotencyStore } from './idempotency/idempotency-store.ts';
import type { StoredResponse } from './idempotency/replay.ts';
import { withAttempts } from './repeat.ts';
import { answerOf, respond } from './respond.ts';
import { type ApiRuntime, userOf } from './start/runtime.ts';

/** Wraps an action; `run` runs it. */
export type Around = (request: ApiRequest, run: () => unknown) => unknown;

/** Runs the action and nothing else. */
export const directly: Around = (_, run) => run();

/** Wraps a reading action whose hooks may end the request with a reply. */
export function withEarlyReply(
  { framework, overrides }: ApiRuntime,
  format: Format,
  grants: GroupGrants,
  run: RouteHandler,
): RouteHandler {
  // `customizeQuery` has the state of the request anyway
  if ([...overrides].every((name) => name === 'customizeQuery' || !(hookNeeds[name].replies || name === 'checkAccess')))
    return run;
  return (incoming: FastifyRequest, reply: FastifyReply) => {
    const request = incoming as ApiRequest;
    return withState(stateOf(request, framework.mapper), async () => {
      try {
        return await run(incoming, reply);
      } catch (error) {
        if (!(error instanceof EarlyReply)) throw error;
        return respond(framework, request, reply, error.reply, isExport(format) ? 'json' : format, { grants });
      }
    });
  };
}

/** An action in two parts: `admit` checks access, `act` carries it out. */
export interface Acting {
  readonly api: ApiRuntime;
  readonly action: string;
  readonly format: Format;
  /** Decides which groups apply to the caller. */
  readonly grants: GroupGrants;
  /** Whether it is retried after the database rolled it back because of another request. */
  readonly isRepeatable: boolean;
  /** Whether Declarest itself handles it, and no code of the application. */
  readonly isDefault: boolean;
  /** Returns the store for requests with an `Idempotency-Key`; null if such keys are ignored. */
  readonly idempotencyStore: (() => Promise<IdempotencyStore>) | null;
  /** Finds the row and checks access; null for an action without an id. */
  admit(request: ApiRequest): Promise<Admission | null>;
  act(request: ApiRequest, admission: Admission | null): unknown;
}

/** The handler of an action that may write, or that a method of the controller handles. */
export function actionHandler({
  act,
  action,
  admit,
  api,
  format,
  grants,
  isDefault,
  isRepeatable,
  idempotencyStore,
}: Acting): RouteHandler {
  const { framework, hooks, meta } = api;
  const { mapper } = framework;
  const responding = { model: meta, isDefault: action === '_index' || action === '_entity', grants };
  const perform = async (request: ApiRequest, admission: Admission | null) => {
    stateOf(request, mapper).runningAction = action;
    return serializable(request, await act(request, admission));
  };
  const serializable = async (request: ApiRequest, result: unknown) => {
    // an export calls the hook with each chunk, and a list with each item
    if (!(result instanceof ExportReply || result instanceof BulkReply))
      await runHook(hooks.beforeSerialize(action, request, result));
    return result;
  };
  const run = async (request: ApiRequest) => perform(request, await admit(request)).catch(replyOfHook);
  const handle = (request: ApiRequest, reply: FastifyReply) =>
    withState(stateOf(request, mapper), async () => {
      const given = await lockedFirst(api, request, () => run(request).catch(replyOfHook));
      return respond(framework, request, reply, given, format, responding).catch(async (error: unknown) => {
        // a hook that receives a chunk can still reply as long as nothing was sent
        if (!(error instanceof EarlyReply) || !(given instanceof ExportReply)) throw error;
        return respond(framework, request, reply, error.reply, 'json', { grants });
      });
    });
  const handleOnce = async (store: IdempotencyStore, request: ApiRequest, reply: FastifyReply) => {
    const keyed = store.read(request);
    let admission: Admission | null = null;
    const exchange: Exchange = {
      api,
      request,
      reply,
      admit: async () => {
        admission = await admit(request);
        return admission;
      },
      act: () => perform(request, admission).catch(replyOfHook),
      render: (given, shown) => answerOf(framework, request, given, format, { ...responding, shown }),
      rerender: isDefault
        ? async (given) => {
            // the hook receives the same value as from the action
            await serializable(request, action === '_entity' ? given.value : given);
            return answerOf(framework, request, given, format, responding);
          }
        : null,
      mayShowMissing: (stored) => mayShowMissing(api, action, request, grants, stored),
    };
    return attempt(request, reply, () => withState(stateOf(request, mapper), () => store.answer(keyed, exchange)));
  };
  const attempt = <Result>(request: ApiRequest, reply: FastifyReply, work: () => Promise<Result>) =>
    withAttempts(api, request, reply, work, isRepeatable);
  return async (incoming: FastifyRequest, reply: FastifyReply) => {
    const request = incoming as ApiRequest;
    if (idempotencyStore && hasKey(request)) return handleOnce(await idempotencyStore(), request, reply);
    return attempt(request, reply, () => handle(request, reply));
  };
}

/** Runs a request. If its row was changed repeatedly during the access check, the row is locked before anything else. */
async function lockedFirst<Result>(
  { framework, keyIn, meta }: ApiRuntime,
  request: ApiRequest,
  run: () => Promise<Result>,
): Promise<Result> {
  const state = stateOf(request, framework.mapper);
  const key = state.locksFirst ? (state.loadedKey ?? keyIn(request)) : undefined;
  if (key === undefined) return run();
  const { em } = state;
  return untilCommit(state, () =>
    inTransaction(em, async () => {
      await readVersion(framework.mapper, em, meta, key, { lock: true });
      return run();
    }),
  );
}

function replyOfHook(error: unknown): unknown {
  if (error instanceof EarlyReply) return error.reply;
  throw error;
}

/** Whether a request must be carried out only once, however often it is sent. Repeated reads do no harm. */
function hasKey({ headers, method }: ApiRequest): boolean {
  return headers['idempotency-key'] !== undefined && method !== 'GET' && method !== 'HEAD';
}

/**
 * Whether a stored response is returned to a caller who does not see the entity any more. One without a body always is. A
 * body is returned only if its visibility depends on the caller alone, and not on the entity.
 */
async function mayShowMissing(
  api: ApiRuntime,
  action: string,
  request: ApiRequest,
  grants: GroupGrants,
  { body }: StoredResponse,
): Promise<boolean> {
  const guard = api.guardOf(action, request.method as HttpMethod);
  if (guard.readsSubject || grants.readsSubject) return body === null;
  await guard.check(null, userOf(request), request);
  stateOf(request, api.framework.mapper).groups = await grants.ofCollection(request);
  return body === null || !(api.restricts || api.loads || canHideRows(api.meta));
}
