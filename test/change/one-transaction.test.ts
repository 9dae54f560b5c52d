import { setTimeout as sleep } from 'node:timers/promises';
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { ApiController, type ApiRequest, type Violation } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const schema = defineEntity({
  name: 'Span',
  properties: {
    id: p.integer().primary().groups('read'),
    start: p.integer().groups('read', 'write'),
    end: p.integer().groups('read', 'write'),
  },
});
class Span extends schema.class {
  async validate() {
    const isRight = this.start <= this.end;
    await meeting.met();
    return isRight ? [] : [{ propertyPath: 'end', title: 'is before the start' }];
  }
}
schema.setClass(Span as never);

const Plain = defineEntity({
  name: 'Plain',
  properties: {
    id: p.integer().primary().groups('read'),
    a: p.integer().groups('read', 'write'),
    b: p.integer().groups('read', 'write'),
  },
});

/** Where two requests wait for each other, for a while. */
const meeting = {
  waiting: null as null | (() => void),
  async met(): Promise<void> {
    if (this.waiting) {
      this.waiting();
      this.waiting = null;
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.waiting = resolve;
    await Promise.race([promise, sleep(150)]);
    this.waiting = null;
  },
};

const after: string[] = [];

class PlainController extends ApiController {
  override async validate(entity: { a: number; b: number }): Promise<Violation[]> {
    const isRight = entity.a + entity.b <= 10;
    await meeting.met();
    return isRight ? [] : [{ propertyPath: 'a', title: 'is too much together with b' }];
  }

  override afterCommit(_action: string, _request: ApiRequest, entity: { a: number }) {
    after.push(`after ${entity.a}`);
  }

  /** Does more than one thing, in one transaction. */
  async severalApi(id: number, request: ApiRequest) {
    const entity = (await this.getEntity('several', id, request)) as { a: number; b: number };
    const { fail, hold = 0 } = request.body as { fail?: boolean; hold?: number };
    await this.transactional(entity, async () => {
      await this.entityApi(id, { ...request, method: 'PATCH', query: {}, body: { a: 3 } } as unknown as ApiRequest, 'json');
      after.push('still within');
      await sleep(hold);
      if (fail) throw new Error('too late');
    });
    return entity;
  }
}

describe.each(databases)('the transaction of a change on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    const _entity = { methods: { GET: true, PATCH: true, PUT: true } };
    app = await startApplication({
      app_main: {
        apis: {
          span: { class: Span, base_path: '/span', actions: { _entity } },
          plain: {
            class: Plain,
            base_path: '/plain',
            controller: PlainController,
            actions: { _entity, several: { methods: { POST: true } } },
          },
        },
        database: { url: database.url, schema: 'update' },
      },
      models: [Span, Plain],
      controllers: [PlainController],
      seed: (em) => {
        for (let id = 1; id <= 3; id++) {
          em.create(Span, { start: 1, end: 10 } as never);
          em.create(Plain, { a: 1, b: 1 });
        }
      },
    });
  });

  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  test.each([
    ['a rule of the model', '/span/1.json', { start: 5 }, { end: 3 }],
    ['a rule of the controller', '/plain/1.json', { a: 9 }, { b: 9 }],
  ])('includes the reads that %s depends on', async (_, path, one, two) => {
    const answers = await Promise.all([one, two].map((json) => app.request('PATCH', path, { json })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
    const { json } = await app.request('GET', path);
    expect(json).toMatchObject(answers[0]?.status === 200 ? one : two);
    expect(json).not.toMatchObject({ ...one, ...two });
  });

  test('joins the transaction of a handler, and hooks run after its commit', async () => {
    after.length = 0;
    const failed = await app.request('POST', '/plain/2/several.json', { json: { fail: true } });
    expect([failed.status, after]).toEqual([500, ['still within']]);
    expect((await app.request('GET', '/plain/2.json')).json).toEqual({ id: 2, a: 1, b: 1 });
    after.length = 0;
    expect((await app.request('POST', '/plain/2/several.json', { json: {} })).json).toEqual({ id: 2, a: 3, b: 1 });
    expect(after).toEqual(['still within', 'after 3']);
  });

  test('begins with the first write of a handler, which waits for other writers like any request', async () => {
    after.length = 0;
    // longer than code may wait for its own transaction
    const first = app.request('POST', '/plain/2/several.json', { json: { hold: 1200 } });
    await vi.waitUntil(() => after.at(-1) === 'still within', { timeout: 10_000 });
    const second = app.request('POST', '/plain/3/several.json', { json: {} });
    expect((await Promise.all([first, second])).map(({ status }) => status)).toEqual([200, 200]);
  });
});
