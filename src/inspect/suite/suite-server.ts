import type { AddressInfo } from 'node:net';
import type { ApiRequest } from '../../access/user.ts';
import type { Application } from '../../application.ts';
import { Problem } from '../../errors.ts';
import { serverOf } from '../../server.ts';
import { Judge } from './suite-judge.ts';
import { sendRequest, type TestRequest, type TestResponse } from './test-client.ts';

/** A new and empty database, and the way to remove it. */
export interface SuiteDatabase {
  readonly url: string;
  drop?(): unknown;
}

interface Running {
  readonly application: Application;
  readonly judge: Judge;
  readonly url: string;
  /** Looks at a request when it is about to be handled, its caller being known. */
  look: ((request: ApiRequest) => Promise<void>) | null;
  written: boolean;
  close(): Promise<void>;
}

/** Loads the application on a database; what sees the statements that are sent to it is passed on. */
type Load = (databaseUrl: string, onStatement: (sql: string) => void) => Promise<Application>;

/** Whether a statement may write. To take a lock for a write is a false alarm that does no harm. */
const writing = /\b(?:insert|update|delete|merge|replace|truncate|create|alter|drop|call)\b/i;

/** Runs an application on a database that nobody else uses, and on another one as soon as something was written to it. */
export class SuiteServer {
  readonly #load: Load;
  readonly #database: () => SuiteDatabase | Promise<SuiteDatabase>;
  #running: Promise<Running> | null = null;

  constructor(load: Load, database: () => SuiteDatabase | Promise<SuiteDatabase> = () => ({ url: 'sqlite::memory:' })) {
    this.#load = load;
    this.#database = database;
  }

  /** The application as it runs now, started where it does not. */
  get running(): Promise<Running> {
    this.#running ??= this.#start();
    return this.#running;
  }

  /** Sends a request, and lets somebody look at it just before it is handled. What that one throws is thrown here. */
  async send(
    method: string,
    path: string,
    request: TestRequest,
    look: ((request: ApiRequest) => Promise<void>) | null,
  ): Promise<TestResponse> {
    const running = await this.running;
    const failures: unknown[] = [];
    running.look = look && ((seen) => look(seen).catch((error: unknown) => void failures.push(error)));
    try {
      const response = await sendRequest(running.application, running.url + path, method, request);
      if (failures.length > 0) throw failures[0];
      return response;
    } finally {
      running.look = null;
      if (running.written) await this.close();
    }
  }

  /** Ends what runs: the next request finds a new application on a new database. */
  async close(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    await (await running)?.close();
  }

  async #start(): Promise<Running> {
    const database = await this.#database();
    const running: Pick<Running, 'look' | 'written'> = { look: null, written: false };
    const application = await this.#load(database.url, (sql) => {
      running.written ||= writing.test(sql);
    });
    const reached = new WeakSet<object>();
    const app = await serverOf(
      application,
      {},
      {
        prepare: (server) => {
          server.addHook('preHandler', async (request) => running.look?.(request as ApiRequest));
          // where the roles of the user decide alone, callers are refused before their body is read
          server.addHook('preParsing', async (request) => void reached.add(request));
          server.addHook('onError', async (request, _, error) => {
            const isJudged = error instanceof Problem && ['authentication_required', 'access_denied'].includes(error.code);
            if (isJudged && !reached.has(request)) await running.look?.(request as ApiRequest);
          });
        },
      },
    );
    await app.listen({ host: '127.0.0.1', port: 0 });
    // until now tables were made and filled
    running.written = false;
    return Object.assign(running, {
      application,
      judge: new Judge(application),
      url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
      close: async () => {
        await app.close();
        await database.drop?.();
      },
    });
  }
}
