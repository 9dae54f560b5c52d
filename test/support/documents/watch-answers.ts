// Holds every answer of every application that a test mounts to the document of that application: one that it does not describe
// fails the test that met it.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach } from 'vitest';
import type { Application } from '../../../src/application.ts';
import type { WatchedAnswer } from './judge-answers.ts';

interface Mounting {
  readonly app: FastifyInstance;
  readonly application: Application;
  readonly alone: boolean;
}

/** More than these do not wait for the end of a test. */
const mostWaiting = 500;

const mountings = new WeakMap<Server, Mounting[]>();
let waiting: WatchedAnswer[] = [];
let objections: string[] = [];

function note(server: Server, answer: Omit<WatchedAnswer, 'alone' | 'application' | 'path'>, url: string): void {
  for (const { alone, app, application } of mountings.get(server) ?? []) {
    if (url.startsWith(app.prefix)) waiting.push({ ...answer, alone, application, path: url.slice(app.prefix.length) });
  }
  if (waiting.length >= mostWaiting) void judgeWaiting();
}

async function judgeWaiting(): Promise<void> {
  const answers = waiting;
  waiting = [];
  if (answers.length === 0) return;
  // most of what it takes is needed by tests that ask for something only
  const { judgeAnswers } = await import('./judge-answers.ts');
  objections.push(...judgeAnswers(answers));
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
      note(
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
// the next file in the same process looks for itself
afterAll(() => {
  unsubscribe('declarest.mounted', onMounted);
  unsubscribe('fastify.initialization', onInitialized);
});

/** Requests whose answer went the way of all others. */
const seen = new WeakSet<object>();

function isText(payload: unknown): boolean {
  return typeof payload === 'string' || Buffer.isBuffer(payload);
}

/** What a server answers before Fastify hears of a request. */
function watchRaw(server: Server): void {
  server.prependListener('request', (request, response) => {
    const { end, writeHead } = response;
    let written: Record<string, unknown> = {};
    response.writeHead = function noted(this: typeof response, ...given: unknown[]) {
      const headers = Object.entries((given.at(-1) as Record<string, unknown> | undefined) ?? {});
      written = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
      return (writeHead as (...all: unknown[]) => typeof response).apply(this, given);
    } as typeof writeHead;
    response.end = function noted(this: typeof response, ...given: unknown[]) {
      if (!seen.has(request)) {
        const text = typeof given[0] === 'string' ? given[0] : '';
        const { method = '', url = '' } = request;
        const headers = { ...response.getHeaders(), ...written };
        note(server, { method, url, sent: undefined, status: response.statusCode, headers, text }, url);
      }
      return (end as (...all: unknown[]) => typeof response).apply(this, given);
    } as typeof end;
  });
}

/** What was found wrong since it was last asked for. */
export async function takeObjections(): Promise<string[]> {
  await judgeWaiting();
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
