import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { databases } from '../support/databases.ts';
import { useTarget } from './support/target.ts';

const properties = () => ({
  id: p.integer().primary().groups('read'),
  name: p.string().groups('read', 'write'),
  pin: p.string().groups('write'),
});
const Locker = defineEntity({ name: 'Locker', properties: properties() });
const Safe = defineEntity({ name: 'Safe', properties: { ...properties(), version: p.integer().version() } });

const actions = { _entity: { methods: { GET: true, PATCH: true } } };
const app = {
  app_main: {
    apis: {
      locker: { class: Locker, base_path: '/locker', actions },
      safe: { class: Safe, base_path: '/safe', actions },
    },
  },
  models: [Locker, Safe],
  async seed(em: EntityManager) {
    em.create(Locker, { name: 'one', pin: '4711' });
    em.create(Safe, { name: 'one', pin: '4711' } as never);
    await em.flush();
  },
} as never;

describe.each(databases)('API3:2023 broken object property level authorization: write-only fields, on %s', (kind) => {
  const target = useTarget(kind, app);
  /** The response to a guess, and the entity tag after it. */
  const guess = async (path: string, pin: string) => {
    const { status, text } = await target.send('PATCH', path, { json: { pin } });
    expect([status, text.includes(pin)]).toEqual([200, false]);
    return (await target.send('GET', path)).headers.etag;
  };

  test('a write does not tell whether it changed the value', async () => {
    const before = (await target.send('GET', '/locker/1.json')).headers.etag;
    expect(await guess('/locker/1.json', '4711')).toBe(before);
    expect(await guess('/locker/1.json', '0000')).toBe(before);
  });

  test('with a version property it does, and replaces the value that was guessed wrong', async () => {
    const before = (await target.send('GET', '/safe/1.json')).headers.etag;
    expect(await guess('/safe/1.json', '4711')).toBe(before);
    expect(await guess('/safe/1.json', '0000')).not.toBe(before);
    expect(await target.rows('select pin from safe')).toEqual([{ pin: '0000' }]);
  });
});
