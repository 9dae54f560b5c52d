import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import type { Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { developmentKeyFile } from '../access/development-key.ts';
import type { User } from '../access/user.ts';
import { type Application, type ApplicationOptions, loadApplication } from '../application.ts';
import { databaseLabel } from '../database/database-label.ts';
import type { DatabaseDeclaration } from '../declaration/types.ts';
import { placeOf } from '../dialect/address.ts';
import { dialectOf } from '../dialect/dialect.ts';
import { serverOf } from '../server.ts';
import { describe } from './describe.ts';
import { exchange, type Received } from './exchange.ts';
import type { ExplainedDatabase, Explanation } from './explanation.ts';
import { Recorder } from './recorder.ts';

/** A request to be explained. */
export interface RequestToExplain {
  readonly method: string;
  readonly path: string;
  /** Calls as this user, without a credential. */
  readonly user?: User | undefined;
  /** A token or an API key, sent as the application takes it. */
  readonly credential?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as JSON. It is read and validated, and nothing is done with it. */
  readonly body?: string | undefined;
}

/**
 * An application that serves nobody, and tells of single requests what would become of them. It is put together as one that serves,
 * with a recorder beside it and a database that refuses every change.
 */
export class Explainer {
  readonly #application: Application;
  readonly #app: FastifyInstance;
  readonly #recorder: Recorder;
  readonly #database: ExplainedDatabase;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(application: Application, app: FastifyInstance, recorder: Recorder, database: ExplainedDatabase) {
    this.#application = application;
    this.#app = app;
    this.#recorder = recorder;
    this.#database = database;
  }

  /** Loads an application to explain requests with; `copy` says that its database is the copy of another. */
  static async open(options: ApplicationOptions, { copy }: { readonly copy?: string } = {}): Promise<Explainer> {
    const recorder = new Recorder();
    let database: ExplainedDatabase = { address: '', is: 'existing' };
    const choose = (declared: DatabaseDeclaration, directory: string): DatabaseDeclaration => {
      const fresh = isMissing(declared, directory);
      database = { address: databaseLabel(copy ?? declared.url), is: copy ? 'copy' : fresh ? 'fresh' : 'existing' };
      return fresh ? { ...declared, url: 'sqlite::memory:', schema: 'update' } : { ...declared, readOnly: true };
    };
    const onStatement = (sql: string, parameters: readonly unknown[]) => recorder.statement(sql, parameters);
    const loaded = await loadApplication({ ...options, onStatement }, choose);
    const application = Object.freeze({ ...withoutNewKey(loaded), voters: recorder.voters(loaded.voters) });
    const app = await serverOf(application, {}, { observer: recorder });
    try {
      await dialectOf(application.mapper).connections.refuseWrites(application.mapper);
    } catch (error) {
      await app.close();
      throw error;
    }
    return new Explainer(application, app, recorder, database);
  }

  /** Says what becomes of a request. One at a time is explained. */
  explain(request: RequestToExplain): Promise<Explanation> {
    const explained = this.#last.then(() => this.#explain(request));
    this.#last = explained.catch(() => undefined);
    return explained;
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#app.close();
  }

  async #explain({ method, path, user, credential, headers = {}, body }: RequestToExplain): Promise<Explanation> {
    const sent = {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(credential !== undefined && credentialHeader(this.#application, credential)),
      ...headers,
    };
    const secrets = [...(credential === undefined ? [] : [credential]), ...Object.values(headers)];
    let answer: Received = { status: 0, text: '' };
    const recording = await this.#recorder.during(
      async () => {
        answer = await exchange(this.#app.server as Server, { method, path, headers: sent, body });
      },
      { user, secrets },
    );
    return describe({
      application: this.#application,
      database: this.#database,
      recording,
      needsEntity: (record) => this.#recorder.needsEntity(record),
      answer,
      asked: { method, path, hasBody: body !== undefined, by: user ? 'given' : secrets.length > 0 ? 'credential' : 'nobody' },
    });
  }
}

/** Whether there is nothing that could be read yet. */
function isMissing({ url }: DatabaseDeclaration, directory: string): boolean {
  const place = placeOf(url, directory);
  if (typeof place === 'string') return place === 'memory';
  return !((statSync(place.file, { throwIfNoEntry: false })?.size ?? 0) > 0);
}

/** A development key that is not there yet has signed nothing, and is not made for the sake of looking. */
function withoutNewKey(application: Application): Application {
  const { declaration, directory, production } = application;
  const { jwt } = declaration.security;
  if (!jwt || jwt.secret !== null || jwt.jwks !== null || production || existsSync(developmentKeyFile(directory)))
    return application;
  const security = { ...declaration.security, jwt: { ...jwt, secret: randomBytes(32).toString('base64url') } };
  return { ...application, declaration: { ...declaration, security } };
}

/** The header in which an application takes a credential: as a token wherever that is possible, else as an API key. */
function credentialHeader({ declaration: { security } }: Application, credential: string): Record<string, string> {
  const looksLikeToken = /^[\w-]+\.[\w-]+\.[\w-]*$/.test(credential);
  const isKey = security.apiKeys.length > 0 && (security.jwt === null || !looksLikeToken);
  return isKey ? { 'x-api-key': credential } : { authorization: `Bearer ${credential}` };
}
