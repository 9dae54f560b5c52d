import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { User } from '../access/user.ts';
import { type Application, type InternalOptions, loadApplication } from '../application.ts';
import { serverOf } from '../server.ts';
import type { Explainer } from './explainer.ts';
import type { Explanation } from './explanation.ts';
import { sendRequest, type TestRequest, type TestResponse, type TestUser, tokenFor } from './suite/test-client.ts';

/** A request that a test wants explained. */
export interface TestExplainRequest {
  /** The JSON body. It is read and validated, but nothing is written. */
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Calls as this user, with a token that the application itself would accept; or with this token or API key. */
  readonly as?: TestUser | string;
  /** Calls as this user, without any credential. */
  readonly user?: User;
}

/** An application that runs for a test. */
export interface TestApplication {
  readonly url: string;
  readonly app: FastifyInstance;
  /** The text of every statement that was sent to the database since the list was last emptied. */
  readonly statements: string[];
  request(method: string, path: string, request?: TestRequest): Promise<TestResponse>;
  /** Explains the response to a request, without changing data. */
  explain(method: string, path: string, request?: TestExplainRequest): Promise<Explanation>;
  tokenFor(user: TestUser): Promise<string>;
  close(): Promise<void>;
}

/** The same, with the loaded application. */
export interface RunningApplication extends TestApplication {
  readonly application: Application;
}

/** Starts an application on a free port of the loopback interface. */
export async function runApplication(options: InternalOptions): Promise<RunningApplication> {
  const statements: string[] = [];
  const application = await loadApplication({
    ...options,
    onStatement: (sql, parameters) => {
      statements.push(sql);
      options.onStatement?.(sql, parameters);
    },
  });
  const app = await serverOf(application);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  let explainer: Promise<Explainer> | null = null;

  async function explain(
    method: string,
    path: string,
    { json, headers, as, user }: TestExplainRequest = {},
  ): Promise<Explanation> {
    // loaded on first use: most tests explain nothing
    explainer ??= import('./running-explainer.ts').then((module) => module.runningExplainer(application, options));
    const credential = typeof as === 'object' ? await tokenFor(application, as) : as;
    const body = json === undefined ? undefined : JSON.stringify(json);
    return (await explainer).explain({ method, path, user, credential, headers, body });
  }

  return {
    url,
    app,
    application,
    statements,
    request: (method, path, request) => sendRequest(application, url + path, method, request),
    explain,
    tokenFor: (user) => tokenFor(application, user),
    close: async () => {
      await (await explainer)?.close();
      // otherwise the server would wait for connections on which no request was ever sent
      const timer = setTimeout(() => app.server.closeAllConnections(), 1000);
      await app.close();
      clearTimeout(timer);
    },
  };
}
