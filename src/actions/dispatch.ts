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
import { ExportReply, isExport } from './export-reply.ts';
import { EarlyReply, hookNeeds, runHook } from './hooks.ts';
import type { Exchange, IdempotencyStore } from './idempotency/idempotency-store.ts';
import type { StoredResponse } from './idempotency/replay.ts';
import { withAttempts } from './repeat.ts';
import { answerOf, respond } from './respond.ts';
import { type ApiRuntime, userOf } from './start/runtime.ts';

/** Is called with what runs the action. */
export type Around = (request: ApiRequest, run: () => unknown) => unknown;

/** Runs the action and nothing else. */
export const directly: Around = (_, run) => run();

/** A reading action of which a hook of the controller may end the request with a reply. */
export function leavable({ framework, overrides }: ApiRuntime, format: Format, run: RouteHandler): RouteHandler {
  // the first has the state of the request anyway
  if ([...overrides].every((name) => name === 'customizeQuery' || !(hookNeeds[name].replies || name === 'checkAccess')))
    return run;
  return (incoming: FastifyRequest, reply: FastifyReply) => {
    const request = incoming as ApiRequest;
    return withState(stateOf(request, framework.mapper), async () => {
      try {
        return await run(incoming, reply);
      } catch (error) {
        if (!(error instanceof EarlyReply)) throw error;
        return respond(framework, request, reply, error.reply, isExport(format) ? 'json' : format);
      }
    });
  };
}

/** An action in its two parts: what decides whether the caller may do it, and what does it. */
export interface Acting {
  readonly api: ApiRuntime;
  readonly action: string;
  readonly format: Format;
  /** Whether it is retried after the database rolled it back because of another request. */
  readonly isRepeatable: boolean;
  /** Whether no code of the application handles it. */
  readonly isDefault: boolean;
  /** Gives what answers requests with an `Idempotency-Key`; null: such keys mean nothing. */
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
  isDefault,
  isRepeatable,
  idempotencyStore,
}: Acting): RouteHandler {
  const { framework, hooks, meta, overrides } = api;
  const { mapper } = framework;
  const responding = { model: meta, isDefault: action === '_index' || action === '_entity' };
  const perform = async (request: ApiRequest, admission: Admission | null) => {
    stateOf(request, mapper).runningAction = action;
    return serializable(request, await act(request, admission));
  };
  const serializable = async (request: ApiRequest, result: unknown) => {
    // an export shows the hook each of its chunks
    if (!(result instanceof ExportReply) && overrides.has('beforeSerialize'))
      await runHook(hooks.beforeSerialize(action, request, result));
    return result;
  };
  const run = async (request: ApiRequest) => perform(request, await admit(request)).catch(replyOfHook);
  const answer = (request: ApiRequest, reply: FastifyReply) =>
    withState(stateOf(request, mapper), async () => {
      const given = await lockedFirst(api, request, () => run(request).catch(replyOfHook));
      return respond(framework, request, reply, given, format, responding).catch(async (error: unknown) => {
        // a hook that is shown a chunk can still reply as long as nothing was sent
        if (!(error instanceof EarlyReply) || !(given instanceof ExportReply)) throw error;
        return respond(framework, request, reply, error.reply, 'json');
      });
    });
  const answerOnce = async (answers: IdempotencyStore, request: ApiRequest, reply: FastifyReply) => {
    const keyed = answers.read(request);
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
            // the hook is shown what the action gives
            await serializable(request, action === '_entity' ? given.value : given);
            return answerOf(framework, request, given, format, responding);
          }
        : null,
      mayShowMissing: (kept) => mayShowMissing(api, action, request, kept),
    };
    return attempt(request, reply, () => withState(stateOf(request, mapper), () => answers.answer(keyed, exchange)));
  };
  const attempt = <Result>(request: ApiRequest, reply: FastifyReply, work: () => Promise<Result>) =>
    withAttempts(api, request, reply, work, isRepeatable);
  return async (incoming: FastifyRequest, reply: FastifyReply) => {
    const request = incoming as ApiRequest;
    if (idempotencyStore && hasKey(request)) return answerOnce(await idempotencyStore(), request, reply);
    return attempt(request, reply, () => answer(request, reply));
  };
}

/** Runs a request whose row was changed too often while access to it was checked: the row is locked before anything else is done. */
async function lockedFirst<Result>(
  { framework, meta, parseId }: ApiRuntime,
  request: ApiRequest,
  run: () => Promise<Result>,
): Promise<Result> {
  const state = stateOf(request, framework.mapper);
  const key = state.locksFirst ? (state.loadedKey ?? parseId((request.params as { id?: string }).id)) : undefined;
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

/** Whether a request is to be carried out once, however often it is sent. Reading twice does no harm. */
function hasKey({ headers, method }: ApiRequest): boolean {
  return headers['idempotency-key'] !== undefined && method !== 'GET' && method !== 'HEAD';
}

/**
 * Whether a kept response is returned to a caller for whom the entity is not there any more. That the request was carried out can be
 * told. The body only if the caller alone decides who sees it, and not the entity.
 */
async function mayShowMissing(api: ApiRuntime, action: string, request: ApiRequest, { body }: StoredResponse): Promise<boolean> {
  const guard = api.guardOf(action, request.method as HttpMethod);
  if (guard.readsSubject) return body === null;
  await guard.check(null, userOf(request), request);
  return body === null || !(api.restricts || api.loads || canHideRows(api.meta));
}
