import type { onRequestHookHandler } from 'fastify';
import type { Source } from '../declaration/source.ts';
import { type TargetLimits, targetProblem } from './target-limits.ts';

/** Keys of `app_main.server` that concern a whole server, which a plugin does not have. */
const serverKeys: ReadonlySet<string> = new Set([
  'compress',
  'cors',
  'host',
  'port',
  'header_limit',
  'header_timeout',
  'request_timeout',
  'handler_timeout',
  'keep_alive_timeout',
  'max_concurrent',
  'busy_concurrent',
  'shutdown_timeout',
  'trust_proxy',
  'health',
  'request_id',
  'log',
  'timing',
  'metrics',
]);

/** The warning about declared settings that have no effect on a server of the host; null if there are none. */
export function unusedSettings({ value }: Pick<Source, 'value'>): string | null {
  const { server } = (value.app_main ?? {}) as { readonly server?: unknown };
  const written = Object.entries((server ?? {}) as object).filter(([, setting]) => setting !== null && setting !== false);
  const unused = written.map(([key]) => key.replaceAll('-', '_')).filter((key) => serverKeys.has(key));
  if (unused.length === 0) return null;
  const names = unused.map((key) => `server.${key}`).join(', ');
  return `no effect on a server that Declarest did not create: ${names}; set this up on your Fastify server, or use createServer()`;
}

/** Limits the length of URLs and parameters; on its own server, Declarest checks them before the router does. */
export function limitTargets(limits: TargetLimits): onRequestHookHandler {
  return ({ raw }, _reply, done) => {
    const trouble = targetProblem(raw.url as string, limits);
    if (trouble) done(trouble);
    else done();
  };
}
