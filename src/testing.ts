import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type Application, type ApplicationOptions, loadApplication } from './application.ts';
import { sendRequest, type TestRequest, type TestResponse, type TestUser, tokenFor } from './inspect/test-client.ts';
import { serverOf } from './server.ts';

export { type AccessSuiteOptions, accessSuite, type SuiteDatabase } from './inspect/access-suite.ts';
export type { TestRequest, TestResponse, TestUser } from './inspect/test-client.ts';

/** An application that runs for a test. */
export interface TestApplication {
  readonly url: string;
  readonly app: FastifyInstance;
  readonly application: Application;
  /** The text of every statement that was sent to the database since the list was last emptied. */
  readonly statements: string[];
  request(method: string, path: string, request?: TestRequest): Promise<TestResponse>;
  tokenFor(user: TestUser): Promise<string>;
  close(): Promise<void>;
}

/** Starts an application on a free port of the loopback interface. */
export async function startApplication(options: ApplicationOptions): Promise<TestApplication> {
  const statements: string[] = [];
  const application = await loadApplication({
    ...options,
    onStatement: (sql) => {
      statements.push(sql);
      options.onStatement?.(sql);
    },
  });
  const app = await serverOf(application);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return {
    url,
    app,
    application,
    statements,
    request: (method, path, request) => sendRequest(application, url + path, method, request),
    tokenFor: (user) => tokenFor(application, user),
    close: () => app.close(),
  };
}
