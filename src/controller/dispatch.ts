import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiRequest } from '../access/user.ts';
import type { Format, HttpMethod } from '../declaration/types.ts';
import { canHideRows } from '../query/filters.ts';
import type { RouteHandler } from '../route/mount.ts';
import { admitCollection, admitSingle } from './admission.ts';
import type { ApiController } from './api-controller.ts';
import { ExportReply } from './export-reply.ts';
import { EarlyReply, heed } from './hooks.ts';
import type { Exchange, KeptAnswers } from './kept-answers.ts';
import { checkPrecondition } from './precondition.ts';
import { withAttempts } from './repeat.ts';
import { stateOf, withState } from './request-state.ts';
import { type Answer, answerOf, respond, writes } from './respond.ts';
import { type ApiRuntime, userOf } from './runtime.ts';

type Method = (...args: unknown[]) => unknown;

/** Is called with what calls the controller's method. */
export type Around = (request: ApiRequest, run: () => unknown) => unknown;

/** Nobody is around. */
export const directly: Around = (_, run) => run();

/** How an action is answered. */
export interface Acting {
  readonly runtime: ApiRuntime;
  readonly controller: ApiController;
  readonly action: string;
  /** The controller's method. */
  readonly method: string;
  readonly format: Format;
  /** Whether it is done again where the database undid it because others were in its way. */
  readonly isRepeatable: boolean;
  /** Gives what answers requests with an `Idempotency-Key`; null: such keys mean nothing. */
  readonly keptAnswers: (() => Promise<KeptAnswers>) | null;
  readonly around?: Around | undefined;
}

/** The handler of an action with an id: the entity is fetched and access to it is checked, whatever the controller's method does then. */
export function singleHandler(acting: Acting): RouteHandler {
  const { action, around = directly, controller, format, method, runtime } = acting;
  const idOf = (request: ApiRequest) => runtime.parseId((request.params as { id: string }).id);
  return handler(
    acting,
    (request) => admitSingle(runtime, action, idOf(request), request),
    (request) => {
      const { admitted } = stateOf(request, runtime.framework.mapper);
      if (admitted && writes(request.method)) checkPrecondition(runtime, request, admitted.entity);
      return around(request, () => call(controller, method, [idOf(request), request, format]));
    },
  );
}

/** The handler of an action without an id: access is checked, with a null subject, before the controller's method runs. */
export function collectionHandler(acting: Acting): RouteHandler {
  const { action, around = directly, controller, format, method, runtime } = acting;
  return handler(
    acting,
    (request) => admitCollection(runtime, action, request),
    (request) => around(request, () => call(controller, method, [request, format])),
  );
}

function call(controller: ApiController, method: string, args: unknown[]): unknown {
  return (controller as unknown as Record<string, Method>)[method]?.(...args);
}

function handler(
  { action, format, isRepeatable, keptAnswers, runtime }: Acting,
  admit: (request: ApiRequest) => Promise<unknown>,
  work: (request: ApiRequest) => unknown,
): RouteHandler {
  const { framework, hooks, meta } = runtime;
  const { mapper } = framework;
  const responding = { model: meta, isDefault: action === '_index' || action === '_entity' };
  const act = async (request: ApiRequest) => {
    const result = await work(request);
    // an export shows the hook each of its chunks
    if (!(result instanceof ExportReply)) await heed(hooks.onBeforeSerialize(action, request, result));
    return result;
  };
  const answer = (request: ApiRequest, reply: FastifyReply) =>
    withState(stateOf(request, mapper), async () => {
      const given = await admit(request)
        .then(() => act(request))
        .catch(replyOfHook);
      return respond(framework, request, reply, given, format, responding).catch(async (error: unknown) => {
        // a hook that is shown a chunk can still answer as long as nothing was sent
        if (!(error instanceof EarlyReply) || !(given instanceof ExportReply)) throw error;
        return respond(framework, request, reply, error.reply, 'json');
      });
    });
  const answerOnce = async (answers: KeptAnswers, request: ApiRequest, reply: FastifyReply) => {
    const keyed = answers.read(request);
    const exchange: Exchange = {
      request,
      reply,
      admit: () => admit(request),
      act: () => act(request).catch(replyOfHook),
      render: (given) => answerOf(framework, request, given, format, responding),
      mayShowMissing: (kept) => mayShowMissing(runtime, action, request, kept),
    };
    return attempt(request, reply, () => withState(stateOf(request, mapper), () => answers.answer(keyed, exchange)));
  };
  const attempt = <Result>(request: ApiRequest, reply: FastifyReply, work: () => Promise<Result>) =>
    isRepeatable ? withAttempts(mapper, request, reply, work) : work();
  return async (incoming: FastifyRequest, reply: FastifyReply) => {
    const request = incoming as ApiRequest;
    if (keptAnswers && hasKey(request)) return answerOnce(await keptAnswers(), request, reply);
    return attempt(request, reply, () => answer(request, reply));
  };
}

function replyOfHook(error: unknown): unknown {
  if (error instanceof EarlyReply) return error.reply;
  throw error;
}

/** Whether a request asks for something to be done once. To read twice is as good as once. */
export function hasKey({ headers, method }: ApiRequest): boolean {
  return headers['idempotency-key'] !== undefined && method !== 'GET' && method !== 'HEAD';
}

/**
 * Whether what was answered before is told to who asks for an entity that is not there, or not for them, any more. That it was done
 * can be told. What it looked like only where it is the caller alone that decides who sees it, and not the entity.
 */
async function mayShowMissing(runtime: ApiRuntime, action: string, request: ApiRequest, { body }: Answer): Promise<boolean> {
  const guard = runtime.guardOf(action, request.method as HttpMethod);
  if (guard.readsSubject) return body === null;
  await guard.check(null, userOf(request), request);
  return body === null || !(runtime.restricts || canHideRows(runtime.meta));
}
