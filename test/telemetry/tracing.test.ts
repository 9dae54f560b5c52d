import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import Fastify from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ApiController, declarest } from '../../src/index.ts';
import { databases, freshDatabase } from '../support/databases.ts';
import { type AppMain, Thing, thingOptions, until, withThings } from '../traffic/things.ts';

const exporter = new InMemorySpanExporter();
const key = 'key-of-somebody-0001';
const secret = 's3cret-value-of-a-row';

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] } as never));
});
beforeEach(() => exporter.reset());
afterAll(() => {
  trace.disable();
  context.disable();
  propagation.disable();
});

class FailingController extends ApiController {
  async failApi() {
    await this.em.find(Thing, { name: secret });
    await this.em.execute('select cast(? as integer) from nothing_here', [secret]);
    return {};
  }

  leakApi() {
    throw new Error(`the request to https://bot:pass-of-bot@service.example failed with Bearer ${key}`);
  }
}

function options(server: AppMain['server'] = {}) {
  const base = thingOptions(server, { security: { api_keys: { one: { key, roles: ['ROLE_ONE'] } } } });
  const { thing, ...others } = base.app_main.apis as Record<string, object>;
  const fail = {
    class: Thing,
    base_path: '/fail',
    controller: FailingController,
    actions: {
      fail: { 'single-collection': 'collection', methods: { GET: true } },
      leak: { 'single-collection': 'collection', methods: { GET: true } },
    },
  };
  const apis = { thing: { ...thing, base_role: 'ROLE_ONE' }, ...others, fail } as never;
  return { ...base, app_main: { ...base.app_main, apis }, controllers: [...(base.controllers ?? []), FailingController] };
}

/** The spans of a trace, once its server span is there. */
async function spansOf(traceId?: string): Promise<{ server: ReadableSpan; parts: ReadableSpan[] }> {
  let found: ReadableSpan[] = [];
  await until(() => {
    found = exporter.getFinishedSpans().filter((span) => !traceId || span.spanContext().traceId === traceId);
    return found.some(({ kind }) => kind === SpanKind.SERVER);
  });
  const server = found.find(({ kind }) => kind === SpanKind.SERVER) as ReadableSpan;
  return { server, parts: found.filter((span) => span !== server) };
}

describe.each(databases)('with an OpenTelemetry SDK on %s', (database) => {
  test('a request is a span below the span of its caller, with its parts below it', async () => {
    await withThings(database, options(), async ({ request }) => {
      exporter.reset();
      const traceId = '0af7651916cd43dd8448eb211c80319c';
      const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
      const answer = await request('GET', '/thing/1.json?', { headers: { traceparent, 'x-api-key': key } });
      expect(answer.status).toBe(200);
      const { server, parts } = await spansOf(traceId);
      expect(server.name).toBe('GET /thing/{id}.{_format}');
      expect(server.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
      expect(server.attributes).toEqual({
        'http.request.method': 'GET',
        'http.route': '/thing/{id}.{_format}',
        'url.path': '/thing/1.json',
        'url.scheme': 'http',
        'network.protocol.version': '1.1',
        'http.response.status_code': 200,
      });
      expect(server.status.code).toBe(SpanStatusCode.UNSET);
      expect(parts.map(({ name }) => name).sort()).toEqual(['SELECT', 'access', 'access', 'serialize']);
      for (const part of parts) expect(part.parentSpanContext?.spanId).toBe(server.spanContext().spanId);
      const select = parts.find(({ name }) => name === 'SELECT') as ReadableSpan;
      expect(select.kind).toBe(SpanKind.CLIENT);
      expect(select.attributes).toMatchObject({ 'db.system.name': database, 'db.operation.name': 'SELECT' });
      expect(select.attributes['db.query.text']).toMatch(/^select .* from ["`]thing["`]/);
    });
  });

  test('writes have spans for their statements, and no span contains a value', async () => {
    await withThings(database, options(), async ({ request }) => {
      exporter.reset();
      const headers = { 'x-api-key': key };
      expect((await request('POST', `/thing.json`, { headers, json: { name: secret } })).status).toBe(201);
      const { server, parts } = await spansOf();
      expect(server.name).toBe('POST /thing.{_format}');
      expect(parts.some(({ attributes }) => /\binsert into/.test(String(attributes['db.query.text'])))).toBe(true);
      for (const part of parts) expect(part.spanContext().traceId).toBe(server.spanContext().traceId);
      exporter.reset();
      expect((await request('GET', '/fail/fail.json?token=abc', { headers })).status).toBe(500);
      const failed = await spansOf();
      expect(failed.server.status.code).toBe(SpanStatusCode.ERROR);
      expect(failed.server.attributes).toMatchObject({ 'error.type': '500', 'http.response.status_code': 500 });
      expect(failed.server.events[0]).toMatchObject({ name: 'exception', attributes: { 'exception.type': expect.any(String) } });
      const broken = failed.parts.find(({ status }) => status.code === SpanStatusCode.ERROR);
      expect(broken?.attributes['error.type']).toBe(database === 'sqlite' ? 'ERR_SQLITE_ERROR' : '42P01');
      expect((await request('GET', '/fail/leak.json', { headers })).status).toBe(500);
      await until(() => exporter.getFinishedSpans().some(({ name }) => name.includes('leak')));
      const all = JSON.stringify(
        exporter.getFinishedSpans().map(({ attributes, events, name, status }) => ({ attributes, events, name, status })),
      );
      expect(all).toContain('nothing_here');
      expect(all).not.toContain(secret);
      expect(all).not.toContain('abc');
      expect(all).toContain('service.example failed');
      expect(all).not.toContain('pass-of-bot');
      expect(all).not.toContain(key);
    });
  });
});

test('a request without a matching route is named by its method only', async () => {
  await withThings('sqlite', options(), async ({ request }) => {
    exporter.reset();
    expect((await request('GET', '/nowhere/7')).status).toBe(404);
    const { server } = await spansOf();
    expect(server.name).toBe('GET');
    expect(server.attributes).not.toHaveProperty('http.route');
    expect(server.status.code).toBe(SpanStatusCode.UNSET);
  });
});

test('on a server of the host application, parts are below its active span', async () => {
  const database = await freshDatabase('sqlite');
  const app = Fastify({ routerOptions: { allowUnsafeRegex: true } });
  app.addHook('onRequest', (request, _reply, done) => {
    const span = trace.getTracer('host').startSpan('host');
    (request as { span?: unknown }).span = span;
    context.with(trace.setSpan(context.active(), span), done);
  });
  app.addHook('onResponse', async (request) => (request as unknown as { span: { end(): void } }).span.end());
  const given = options();
  await app.register(declarest, { ...given, app_main: { ...given.app_main, database: { url: database.url } } });
  exporter.reset();
  const answer = await app.inject({ method: 'GET', url: '/thing/1.json', headers: { 'x-api-key': key } });
  expect(answer.statusCode).toBe(200);
  const spans = exporter.getFinishedSpans();
  const host = spans.find(({ name }) => name === 'host') as ReadableSpan;
  const below = spans.filter((span) => span.parentSpanContext?.spanId === host.spanContext().spanId).map(({ name }) => name);
  expect(below.sort()).toEqual(['SELECT', 'access', 'access']);
  await app.close();
  await database.drop();
});
