import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { ApiRequest } from '../../access/user.ts';
import type { Application } from '../../application.ts';
import { Problem } from '../../errors.ts';
import { serverOf } from '../../server.ts';
import { judgeOf, type RowIds } from './suite-judge.ts';
import { sendRequest, type TestRequest, type TestResponse } from './test-client.ts';

/** A new and empty database, with a function that removes it. */
export interface SuiteDatabase {
  readonly url: string;
  drop?(): unknown;
}

/** Inspects a request just before it is handled, when its caller is known. */
type Inspect = (request: ApiRequest) => Promise<void>;

/** Loads the application on a database, and reports its statements. */
type Load = (databaseUrl: string, onStatement: (sql: string) => void) => Promise<Application>;

/** Whether a statement may write. Locks, such as `for no key update`, do not. */
const writing = /\b(?:insert|(?<!\bfor (?:no key )?)update|delete|merge|replace|truncate|create|alter|drop|call)\b/i;

export type SuiteServer = ReturnType<typeof suiteServer>;

/** Runs an application on a database of its own, and on a new one after each write. */
export function suiteServer(
  load: Load,
  createDatabase: () => SuiteDatabase | Promise<SuiteDatabase> = () => ({ url: 'sqlite::memory:' }),
  ids: RowIds = {},
) {
  let current: ReturnType<typeof start> | null = null;
  let inspectNow: Inspect | null = null;
  let written = false;

  async function start() {
    const database = await createDatabase();
    const application = await load(database.url, (sql) => {
      written ||= writing.test(sql);
    });
    const reached = new WeakSet<object>();
    const prepare = (server: FastifyInstance) => {
      server.addHook('preHandler', async (request) => inspectNow?.(request as ApiRequest));
      // callers without the roles are rejected before their body is read, if no voter needs the row
      server.addHook('preParsing', async (request) => void reached.add(request));
      server.addHook('onError', async (request, _, error) => {
        const isJudged = error instanceof Problem && ['authentication_required', 'access_denied'].includes(error.code);
        if (isJudged && !reached.has(request)) await inspectNow?.(request as ApiRequest);
      });
    };
    const app = await serverOf(application, {}, { prepare });
    await app.listen({ host: '127.0.0.1', port: 0 });
    // the start creates and fills tables
    written = false;
    return {
      application,
      judge: judgeOf(application, ids),
      url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
      close: async () => {
        await app.close();
        await database.drop?.();
      },
    };
  }

  /** The running application; the first call starts it. */
  function running() {
    current ??= start();
    return current;
  }

  /** Stops the application: the next request starts a new one on a new database. */
  async function close(): Promise<void> {
    const ending = current;
    current = null;
    await (await ending)?.close();
  }

  /** Sends a request. Errors of `inspect` are thrown again. */
  async function send(method: string, path: string, request: TestRequest, inspect: Inspect | null): Promise<TestResponse> {
    const { application, url } = await running();
    const failures: unknown[] = [];
    inspectNow = inspect && ((seen) => inspect(seen).catch((error: unknown) => void failures.push(error)));
    try {
      const response = await sendRequest(application, url + path, method, request);
      if (failures.length > 0) throw failures[0];
      return response;
    } finally {
      inspectNow = null;
      if (written) await close();
    }
  }

  return { running, send, close };
}
