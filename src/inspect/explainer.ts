import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import type { Server } from 'node:http';
import { developmentKeyFile } from '../access/development-key.ts';
import type { User } from '../access/user.ts';
import { type Application, type ApplicationOptions, loadApplication } from '../application.ts';
import { databaseLabel } from '../database/database-label.ts';
import type { DatabaseDeclaration } from '../declaration/types.ts';
import { placeOf } from '../dialect/address.ts';
import { dialectOf } from '../dialect/dialect.ts';
import { serverOf } from '../server.ts';
import { describe } from './describe.ts';
import { exchange } from './exchange.ts';
import type { ExplainedDatabase, Explanation } from './explanation.ts';
import { Recorder } from './recorder.ts';

export interface RequestToExplain {
  readonly method: string;
  readonly path: string;
  /** Calls as this user, without a credential. */
  readonly user?: User | undefined;
  /** A token or an API key, sent in the header that the application expects. */
  readonly credential?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as JSON. The body is parsed and validated, but not written. */
  readonly body?: string | undefined;
}

/** Explains requests, one at a time. */
export interface Explainer {
  explain(request: RequestToExplain): Promise<Explanation>;
  close(): Promise<void>;
}

/**
 * Loads an application that explains requests. It has the same parts as one that serves, and a recorder. Its database rejects
 * every write. `copy` is the address of the original if the database is a copy.
 */
export async function openExplainer(options: ApplicationOptions, copy?: string): Promise<Explainer> {
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

  async function explain({ method, path, user, credential, headers = {}, body }: RequestToExplain): Promise<Explanation> {
    const sent = {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(credential !== undefined && credentialHeader(application, credential)),
      ...headers,
    };
    const secrets = [...(credential === undefined ? [] : [credential]), ...Object.values(headers)];
    const respond = () => exchange(app.server as Server, { method, path, headers: sent }, body);
    const { recording, result: answer } = await recorder.during(respond, { user, secrets });
    const by = user ? 'given' : secrets.length > 0 ? 'credential' : 'nobody';
    const request = { method, path, hasBody: body !== undefined, by } as const;
    return describe({ application, database, recording, plans: recorder.plans, answer, request });
  }

  return { explain, close: () => app.close() };
}

/** Whether the database does not exist yet, or is empty. */
function isMissing({ url }: DatabaseDeclaration, directory: string): boolean {
  const place = placeOf(url, directory);
  if (typeof place === 'string') return place === 'memory';
  return !statSync(place.file, { throwIfNoEntry: false })?.size;
}

/** Uses a random key if the development key is missing: no token was signed with it, and an explanation must not create it. */
function withoutNewKey(application: Application): Application {
  const { declaration, directory, production } = application;
  const { jwt } = declaration.security;
  if (!jwt || jwt.secret !== null || jwt.jwks !== null || production || existsSync(developmentKeyFile(directory)))
    return application;
  const security = { ...declaration.security, jwt: { ...jwt, secret: randomBytes(32).toString('base64url') } };
  return { ...application, declaration: { ...declaration, security } };
}

/** The header for a credential: as a token if that is possible, else as an API key. */
function credentialHeader({ declaration: { security } }: Application, credential: string): Record<string, string> {
  const looksLikeToken = /^[\w-]+\.[\w-]+\.[\w-]*$/.test(credential);
  const isKey = security.apiKeys.length > 0 && (security.jwt === null || !looksLikeToken);
  return isKey ? { 'x-api-key': credential } : { authorization: `Bearer ${credential}` };
}
