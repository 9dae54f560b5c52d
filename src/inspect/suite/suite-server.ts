import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { ApiRequest } from '../../access/user.ts';
import type { Application } from '../../application.ts';
import { Problem } from '../../errors.ts';
import { serverOf } from '../../server.ts';
import { judgeOf } from './suite-judge.ts';
import { sendRequest, type TestRequest, type TestResponse } from './test-client.ts';

/** A new and empty database, with a function that removes it. */
export interface SuiteDatabase {
  readonly url: string;
  drop?(): unknown;
}

interface Running {
  readonly application: Application;
  readonly judge: ReturnType<typeof judgeOf>;
  readonly url: string;
  close(): Promise<void>;
}

/** Inspects a request just before it is handled, when its caller is known. */
type Look = (request: ApiRequest) => Promise<void>;

/** Loads the application on a database, and reports its statements. */
type Load = (databaseUrl: string, onStatement: (sql: string) => void) => Promise<Application>;

/** Whether a statement may write. A lock for a write matches too, which does no harm. */
const writing = /\b(?:insert|update|delete|merge|replace|truncate|create|alter|drop|call)\b/i;

/** Runs an application on a database of its own, and on a new one after each write. */
export class SuiteServer {
  readonly #load: Load;
  readonly #database: () => SuiteDatabase | Promise<SuiteDatabase>;
  #running: Promise<Running> | null = null;
  #look: Look | null = null;
  #written = false;

  constructor(load: Load, database: () => SuiteDatabase | Promise<SuiteDatabase> = () => ({ url: 'sqlite::memory:' })) {
    this.#load = load;
    this.#database = database;
  }

  /** The running application; the first call starts it. */
  get running(): Promise<Running> {
    this.#running ??= this.#start();
    return this.#running;
  }

  /** Sends a request, and throws what `look` throws. */
  async send(method: string, path: string, request: TestRequest, look: Look | null): Promise<TestResponse> {
    const running = await this.running;
    const failures: unknown[] = [];
    this.#look = look && ((seen) => look(seen).catch((error: unknown) => void failures.push(error)));
    try {
      const response = await sendRequest(running.application, running.url + path, method, request);
      if (failures.length > 0) throw failures[0];
      return response;
    } finally {
      this.#look = null;
      if (this.#written) await this.close();
    }
  }

  /** Stops the application: the next request starts a new one on a new database. */
  async close(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    await (await running)?.close();
  }

  async #start(): Promise<Running> {
    const database = await this.#database();
    const application = await this.#load(database.url, (sql) => {
      this.#written ||= writing.test(sql);
    });
    const reached = new WeakSet<object>();
    const prepare = (server: FastifyInstance) => {
      server.addHook('preHandler', async (request) => this.#look?.(request as ApiRequest));
      // callers without the roles are rejected before their body is read, if no voter needs the row
      server.addHook('preParsing', async (request) => void reached.add(request));
      server.addHook('onError', async (request, _, error) => {
        const isJudged = error instanceof Problem && ['authentication_required', 'access_denied'].includes(error.code);
        if (isJudged && !reached.has(request)) await this.#look?.(request as ApiRequest);
      });
    };
    const app = await serverOf(application, {}, { prepare });
    await app.listen({ host: '127.0.0.1', port: 0 });
    // the start creates and fills tables
    this.#written = false;
    return {
      application,
      judge: judgeOf(application),
      url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
      close: async () => {
        await app.close();
        await database.drop?.();
      },
    };
  }
}
