import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiRequest } from '../access/user.ts';
import type { Format } from '../declaration/types.ts';
import type { RouteHandler } from '../route/mount.ts';
import { admitCollection, admitSingle } from './admission.ts';
import type { ApiController } from './api-controller.ts';
import { ExportReply } from './export-reply.ts';
import { EarlyReply, heed } from './hooks.ts';
import { stateOf, withState } from './request-state.ts';
import { respond } from './respond.ts';
import type { ApiRuntime } from './runtime.ts';

type Method = (...args: unknown[]) => unknown;

/** Is called with what calls the controller's method. */
export type Around = (request: ApiRequest, run: () => unknown) => unknown;

const directly: Around = (_, run) => run();

/** The handler of an action with an id: the entity is fetched and access to it is checked, whatever the controller's method does then. */
export function singleHandler(
  runtime: ApiRuntime,
  controller: ApiController,
  action: string,
  method: string,
  format: string,
  around: Around = directly,
): RouteHandler {
  return handler(runtime, action, format, async (request) => {
    const id = runtime.parseId((request.params as { id: string }).id);
    await admitSingle(runtime, action, id, request);
    return around(request, () => call(controller, method, [id, request, format]));
  });
}

/** The handler of an action without an id: access is checked, with a null subject, before the controller's method runs. */
export function collectionHandler(
  runtime: ApiRuntime,
  controller: ApiController,
  action: string,
  method: string,
  format: string,
  around: Around = directly,
): RouteHandler {
  return handler(runtime, action, format, async (request) => {
    await admitCollection(runtime, action, request);
    return around(request, () => call(controller, method, [request, format]));
  });
}

function call(controller: ApiController, method: string, args: unknown[]): unknown {
  return (controller as unknown as Record<string, Method>)[method]?.(...args);
}

function handler(
  runtime: ApiRuntime,
  action: string,
  format: string,
  work: (request: ApiRequest) => Promise<unknown>,
): RouteHandler {
  const { framework, hooks } = runtime;
  return (incoming: FastifyRequest, reply: FastifyReply) => {
    const request = incoming as ApiRequest;
    return withState(stateOf(request, framework.mapper), async () => {
      const given = await work(request)
        .then(async (result) => {
          // an export shows the hook each of its chunks
          if (!(result instanceof ExportReply)) await heed(hooks.onBeforeSerialize(action, request, result));
          return result;
        })
        .catch(replyOfHook);
      return respond(framework, request, reply, given, format as Format, runtime.meta).catch(async (error: unknown) => {
        // a hook that is shown a chunk can still answer as long as nothing was sent
        if (!(error instanceof EarlyReply) || !(given instanceof ExportReply)) throw error;
        return respond(framework, request, reply, error.reply, 'json');
      });
    });
  };
}

function replyOfHook(error: unknown): unknown {
  if (error instanceof EarlyReply) return error.reply;
  throw error;
}
