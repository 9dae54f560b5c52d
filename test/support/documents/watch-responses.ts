// Compares every response of every application that a test mounts with the document of that application. A difference fails the
// test that sent the request.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach } from 'vitest';
import type { Application } from '../../../src/application.ts';
import type { RecordedResponse } from './check-responses.ts';

interface Mounting {
  readonly app: FastifyInstance;
  readonly application: Application;
  readonly alone: boolean;
}

/** From this number of responses on, they are checked before the end of the test. */
const maxPending = 500;

const mountings = new WeakMap<Server, Mounting[]>();
let pending: RecordedResponse[] = [];
let objections: string[] = [];

function record(server: Server, response: Omit<RecordedResponse, 'alone' | 'application' | 'path'>, url: string): void {
  for (const { alone, app, application } of mountings.get(server) ?? []) {
    if (url.startsWith(app.prefix)) pending.push({ ...response, alone, application, path: url.slice(app.prefix.length) });
  }
  if (pending.length >= maxPending) void judgePending();
}

async function judgePending(): Promise<void> {
  const responses = pending;
  pending = [];
  if (responses.length === 0) return;
  // imported late, because only tests that send requests need most of its modules
  const { checkResponses } = await import('./check-responses.ts');
  objections.push(...checkResponses(responses));
}

function onMounted(message: unknown): void {
  const mounting = message as Mounting;
  const server = mounting.app.server as Server;
  const known = mountings.get(server);
  if (known) {
    known.push(mounting);
    return;
  }
  mountings.set(server, [mounting]);
  watchRaw(server);
}

function onInitialized(message: unknown): void {
  const { fastify } = message as { fastify: FastifyInstance };
  fastify.addHook('onSend', (request, reply, payload, done) => {
    const server = fastify.server as Server;
    if (mountings.has(server)) {
      seen.add(request.raw);
      const text = payload === undefined || payload === null ? '' : isText(payload) ? String(payload) : null;
      const { method, url = '' } = request.raw;
      record(
        server,
        { method: method ?? '', url, sent: request.body, status: reply.statusCode, headers: { ...reply.getHeaders() }, text },
        url,
      );
    }
    done(null, payload);
  });
}

subscribe('declarest.mounted', onMounted);
subscribe('fastify.initialization', onInitialized);
// the next test file in the same process subscribes again
afterAll(() => {
  unsubscribe('declarest.mounted', onMounted);
  unsubscribe('fastify.initialization', onInitialized);
});

/** Requests whose response went through the hook `onSend`. */
const seen = new WeakSet<object>();

function isText(payload: unknown): boolean {
  return typeof payload === 'string' || Buffer.isBuffer(payload);
}

/** Records the responses that a server sends before Fastify gets the request. */
function watchRaw(server: Server): void {
  server.prependListener('request', (request, response) => {
    const { end, writeHead } = response;
    let written: Record<string, unknown> = {};
    response.writeHead = function recorded(this: typeof response, ...given: unknown[]) {
      const headers = Object.entries((given.at(-1) as Record<string, unknown> | undefined) ?? {});
      written = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
      return (writeHead as (...all: unknown[]) => typeof response).apply(this, given);
    } as typeof writeHead;
    response.end = function recorded(this: typeof response, ...given: unknown[]) {
      if (!seen.has(request)) {
        const text = typeof given[0] === 'string' ? given[0] : '';
        const { method = '', url = '' } = request;
        const headers = { ...response.getHeaders(), ...written };
        record(server, { method, url, sent: undefined, status: response.statusCode, headers, text }, url);
      }
      return (end as (...all: unknown[]) => typeof response).apply(this, given);
    } as typeof end;
  });
}

/** The objections since the last call. */
export async function takeObjections(): Promise<string[]> {
  await judgePending();
  const found = [...new Set(objections)];
  objections = [];
  return found;
}

async function report(): Promise<void> {
  const found = await takeObjections();
  if (found.length > 0) throw new Error(`the document of the application disagrees with what was answered:\n${found.join('\n')}`);
}

afterEach(report);
afterAll(report);
