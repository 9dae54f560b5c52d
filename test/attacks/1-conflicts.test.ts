import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { type Answer, useTarget } from './support/target.ts';

type Any = any;

const properties = {
  id: p.integer().primary().groups('read'),
  email: p.string().groups('read', 'write'),
  tenant: p.string(),
};
/** Unique among all tenants. */
const Account: Any = defineEntity({ name: 'Account', properties: { ...properties, email: properties.email.unique() } });
/** Unique within a tenant, as docs/reference/access.md recommends. */
const Member: Any = defineEntity({ name: 'Member', properties, uniques: [{ properties: ['tenant', 'email'] }] as never });

/** Has no API, so that nobody sees it. */
const Remark: Any = defineEntity({
  name: 'Remark',
  properties: { id: p.integer().primary(), account: () => p.manyToOne(Account) as Any },
});

/** Everybody sees the rows of their tenant, and new rows belong to it. */
class TenantController extends ApiController {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Any>) {
    query.andWhere({ tenant: String(request.user?.id) });
  }

  override beforeValidation(_action: string, request: ApiRequest, entity: Any) {
    entity.tenant ??= String(request.user?.id);
  }
}

const api = {
  controller: TenantController,
  base_role: 'ROLE_USER',
  actions: {
    _index: { methods: { GET: true, POST: true } },
    _entity: { methods: { GET: true, PUT: true, PATCH: true, DELETE: true } },
  },
} as const;

const own = 1;
const ann = { id: 'ann', roles: ['ROLE_USER'] };

const application = (compiledReads: boolean): Any => ({
  app_main: {
    security: { jwt: { secret: 'a secret of the tenants that is long enough' } },
    apis: {
      account: { ...api, class: Account, base_path: '/account' },
      member: { ...api, class: Member, base_path: '/member' },
    },
  },
  models: [Account, Member, Remark],
  controllers: [TenantController],
  compiledReads,
  seed: async (em: Any) => {
    for (const model of [Account, Member]) {
      em.create(model, { email: 'seen@example.org', tenant: 'ann' });
      await em.flush();
      em.create(model, { email: 'hidden@example.org', tenant: 'bob' });
    }
    em.create(Remark, { account: own });
    await em.flush();
  },
});

const setups = databases.flatMap((kind) => [
  { kind, compiledReads: true, how: 'compiled' },
  { kind, compiledReads: false, how: 'through entities' },
]);

describe.each(setups)('API1:2023 conflicts with hidden rows, on $kind, $how (CWE-203)', ({ compiledReads, kind }) => {
  const target = useTarget(kind, application(compiledReads));
  /** What differs between two responses only if the row in question does. */
  const told = ({ json, status }: Answer) => ({ status, names: Object.keys(json), code: json.code, detail: json.detail });
  /** A new row, and the one that the caller has, which has its own value again afterwards. */
  const writes = async (path: string, email: string) => {
    const answers: Answer[] = [];
    const created = await target.send('POST', `${path}.json`, { as: ann, json: { email } });
    if (created.status === 201) await target.rows(`delete from ${path.slice(1)} where id = ${created.json.id}`);
    answers.push(created);
    for (const method of ['PATCH', 'PUT']) {
      answers.push(await target.send(method, `${path}/${own}.json`, { as: ann, json: { email } }));
      await target.rows(`update ${path.slice(1)} set email = 'seen@example.org' where id = ${own}`);
    }
    return answers.map(told);
  };

  test('a unique conflict with a hidden row reveals only that some row has the value', async () => {
    for (const { code, detail, names, status } of await writes('/account', 'hidden@example.org')) {
      expect([status, code, detail]).toEqual([409, 'conflict_unique', 'another account has the same value for: email']);
      expect(names).toEqual(['type', 'title', 'status', 'detail', 'instance', 'code']);
    }
  });

  test('a reference conflict with a hidden row reveals only that some row refers to this one', async () => {
    const answer = await target.send('DELETE', `/account/${own}.json`, { as: ann });
    expect(told(answer)).toMatchObject({ status: 409, code: 'conflict_reference' });
    expect(answer.text).not.toContain('remark');
  });

  test('consecutive ids reveal how many rows were created in between', async () => {
    const create = async (as: typeof ann, email: string) =>
      (await target.send('POST', '/account.json', { as, json: { email } })).json.id;
    const first = await create(ann, 'first@example.org');
    await create({ ...ann, id: 'bob' }, 'second@example.org');
    expect(await create(ann, 'third@example.org')).toBe(first + 2);
  });

  test('a unique constraint that includes the tenant reveals nothing about other tenants', async () => {
    const hidden = await writes('/member', 'hidden@example.org');
    expect(hidden).toEqual(await writes('/member', 'free@example.org'));
    expect(hidden.map(({ status }) => status)).toEqual([201, 200, 200]);
  });

  test('a unique conflict within a tenant returns 409 without naming the tenant column', async () => {
    const twice = await target.send('POST', '/member.json', { as: ann, json: { email: 'seen@example.org' } });
    expect(told(twice)).toMatchObject({
      status: 409,
      code: 'conflict_unique',
      detail: 'another member has the same value for: email',
    });
    expect(twice.text).not.toContain('tenant');
  });
});
