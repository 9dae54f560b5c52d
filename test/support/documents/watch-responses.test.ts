import { defineEntity, p } from '@mikro-orm/core';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { declarest } from '../../../src/index.ts';
import { takeObjections } from './watch-responses.ts';

const Thing = defineEntity({ name: 'Thing', properties: { id: p.integer().primary().groups('read') } });

test('an undescribed response fails only the test that requested it', async () => {
  const app = Fastify();
  app.addHook('onRequest', async (request, reply) => {
    if ('strange' in request.headers) await reply.code(299).send({ strange: true });
  });
  await app.register(declarest, {
    app_main: {
      apis: { thing: { class: Thing, base_path: '/thing', actions: { _index: null } } },
      database: { url: 'sqlite::memory:' },
    },
    models: [Thing],
    prefix: '/v1',
  });
  try {
    expect((await app.inject('/v1/thing.json')).json()).toMatchObject({ count: 0 });
    expect((await app.inject('/elsewhere')).statusCode).toBe(404);
    expect(await takeObjections()).toEqual([]);
    // the test fails again when it is repeated
    for (let attempt = 1; attempt <= 2; attempt++) {
      await app.inject({ url: '/v1/thing.json', headers: { strange: '1' } });
      expect(await takeObjections()).toEqual([expect.stringContaining('GET /thing.json: the status 299 is not described')]);
    }
  } finally {
    await app.close();
  }
});
