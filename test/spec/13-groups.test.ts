// @module-tag divided
import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import { beforeEach, describe, expect, test } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { ApiController, type ApiRequest, type User, type Vote, Voter } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { security, useApplication } from './fixtures/use-application.ts';

type Any = any;

/** The calls of the voter: the role, and the key of the person or null. */
const votes: [role: string, subject: number | null][] = [];

const Vitals = defineEntity({
  name: 'Vitals',
  embeddable: true,
  properties: {
    height: p.integer().nullable().groups('read', 'write'),
    weight: p.integer().nullable().groups('read:medical', 'write:medical'),
  },
});
const Center: Any = defineEntity({
  name: 'Center',
  properties: {
    id: p.integer().primary().groups('read', 'short'),
    name: p.string().groups('read', 'short', 'write'),
    alarm: p.string().default('0000').groups('read:medical', 'write:medical'),
  },
});
const personSchema: Any = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary().groups('read', 'short'),
    version: p.integer().version(),
    name: p.string().groups('read', 'short', 'write'),
    nick: p.string().nullable().groups('read', 'write'),
    insurance: (p.string() as Any).nullable().unique().groups('read:medical', 'write:medical'),
    diagnosis: p.string().nullable().groups('read:medical', 'write:medical'),
    salary: p.integer().nullable().groups('read:pay', 'write:pay'),
    center: () => (p.manyToOne(Center) as Any).nullable().groups('read', 'write'),
    vitals: () => (p.embedded(Vitals as Any) as Any).nullable().groups('read', 'write'),
    friends: () => (p.manyToMany(Person as Any) as Any).owner().groups('read:friends'),
  },
} as Any);
class Person extends personSchema.class {}
personSchema.setClass(Person);

/** Doctors see everything medical, and everybody sees what is medical about themselves. */
class MedicalVoter extends Voter<Any> {
  static override roles = ['PERSON_MEDICAL'];
  vote(role: string, person: Any, user: User | null): Vote {
    votes.push([role, person?.id ?? null]);
    if (user?.roles.includes('ROLE_DOCTOR')) return 'grant';
    return person !== null && String(person.id) === user?.id ? 'grant' : 'deny';
  }
}

class PersonController extends ApiController<Any> {
  selfApi(id: Any, request: ApiRequest) {
    return this.getEntity('self', id, request);
  }
  async bothApi(id: Any, request: ApiRequest) {
    return { self: await this.getEntity('both', id, request), other: await this.em.findOneOrFail(Person as Any, { id: 2 }) };
  }
  async listedApi(request: ApiRequest) {
    return this.paginate('listed', request, await this.query('listed', request));
  }
  shownApi(id: Any, request: ApiRequest) {
    return this.getEntity('shown', id, request).then((person) => this.json(person, { groups: ['short', 'read:medical'] }));
  }
}

const both = { GET: true, POST: true } as const;
const entity = { GET: true, HEAD: true, PATCH: true, PUT: true, DELETE: true } as const;
const groups = { read: ['read', 'read:medical', 'read:pay'], write: ['write', 'write:medical', 'write:pay'] };
const lists = {
  filters: { name: ['eq'], diagnosis: ['eq'], 'center.alarm': ['eq'], 'vitals.weight': ['eq'] },
  sort: ['name', 'diagnosis'],
  search: ['name', 'diagnosis'],
} as const;

const options = {
  app_main: {
    security,
    groups: {
      'read:medical': { role: 'PERSON_MEDICAL' },
      'write:medical': { role: 'PERSON_MEDICAL' },
      'read:pay': { role: 'ROLE_PAY' },
      'write:pay': { role: 'ROLE_PAY' },
    },
    formats: ['json', 'xml', 'csv', 'ndjson'],
    apis: {
      person: {
        base_path: '/person',
        hidden: true,
        class: Person,
        controller: PersonController,
        groups,
        actions: {
          _index: { methods: both, ...lists },
          _entity: { methods: entity },
          self: { single_collection: 'single', methods: { GET: true } },
          both: { single_collection: 'single', methods: { GET: true } },
          shown: { single_collection: 'single', methods: { GET: true } },
          listed: { single_collection: 'collection', methods: { GET: true }, filters: lists.filters },
        },
      },
      plain: {
        base_path: '/plain',
        hidden: true,
        class: Person,
        groups,
        default_sort: ['-diagnosis'],
        actions: {
          _index: { methods: both, ...lists },
          _entity: { methods: entity },
        },
      },
      short: {
        base_path: '/short',
        hidden: true,
        class: Person,
        actions: {
          _index: { methods: both, groups: { read: ['short'] } },
          _entity: { methods: entity },
          friends: {
            single_collection: 'single',
            methods: { POST: true },
            association: { property: 'friends', types: [Person] },
            groups: { read: ['short', 'read:medical'] },
          },
        },
      },
      pay: {
        base_path: '/pay',
        hidden: true,
        class: Person,
        groups: { read: ['read', 'read:pay'], write: ['write', 'write:pay'] },
        actions: { _index: { methods: both }, _entity: { methods: entity } },
      },
      circle: {
        base_path: '/circle',
        hidden: true,
        class: Person,
        groups: { read: ['short', 'read:friends', 'read:medical'] },
        actions: { _entity: { methods: entity } },
      },
    },
  },
  models: [Person, Center, Vitals],
  controllers: [PersonController],
  voters: [MedicalVoter],
  seed: async (em: EntityManager) => {
    const center = em.create(Center, { name: 'North', alarm: '7777' } as never);
    const person = (name: string, more: object) => em.create(Person as Any, { name, center, ...more } as never);
    const ann: Any = person('Ann', { diagnosis: 'b', insurance: 'i1', salary: 10, vitals: { height: 170, weight: 60 } });
    const ben: Any = person('Ben', { diagnosis: 'c', insurance: 'i2', salary: 20, vitals: { height: 180, weight: 80 } });
    person('Cid', { diagnosis: 'a', insurance: 'i3', salary: 30 });
    await em.flush();
    ann.friends.add(ben);
    await em.flush();
  },
} as const;

const doctor = { id: '9', roles: ['ROLE_DOCTOR'] };
const nurse = { id: '8', roles: [] };
const ann = { id: '1', roles: [] };
const payer = { id: '7', roles: ['ROLE_PAY'] };

describe.each(databases)('groups on %s', (kind) => {
  describe.each([true, false])('with compiled reads: %s', (compiledReads) => {
    const { request, rows } = useApplication(kind, { ...(options as Any), compiledReads });
    const get = (path: string, as: Any = nurse, headers = {}) => request('GET', path, { as, headers });
    beforeEach(() => {
      votes.length = 0;
    });

    describe('of an action', () => {
      test('decide about its fields alone', async () => {
        const list = await get('/short.json');
        expect(list.json.results[0]).toEqual({ id: 1, name: 'Ann' });
        const one = await get('/short/1.json');
        expect(Object.keys(one.json)).toEqual(['id', 'name', 'nick', 'center', 'vitals']);
        expect(votes).toEqual([]);
      });

      test('decide about the response to a write', async () => {
        const made = await request('POST', '/short.json', { as: nurse, json: { name: 'Zoe', nick: 'Z' } });
        expect(made.status).toBe(201);
        expect(Object.keys(made.json)).toEqual(['id', 'name']);
        const changed = await request('PATCH', `/short/${made.json.id}.json`, { as: nurse, json: { nick: 'Y' } });
        expect(changed.json).toEqual({ ...made.json, nick: 'Y', center: null, vitals: null });
        const read = await get(`/short/${made.json.id}.json`);
        expect(read.headers.get('etag')).toBe(changed.headers.get('etag'));
        expect((await request('DELETE', `/short/${made.json.id}.json`, { as: nurse })).status).toBe(204);
      });

      test('decide about CSV columns', async () => {
        expect((await get('/short.csv')).text.split(/\r?\n/)[0]).toBe('id,name');
      });
    });

    describe.each(['person', 'plain'])('with a role in a list of %s', (api) => {
      test('apply only to callers who are granted it', async () => {
        const seen = (await get(`/${api}.json?sort=name`, doctor)).json.results[0];
        expect(seen).toMatchObject({ diagnosis: 'b', center: { alarm: '7777' }, vitals: { height: 170, weight: 60 } });
        expect('salary' in seen).toBe(false);
        const hidden = (await get(`/${api}.json?sort=name`, nurse)).json.results[0];
        expect(hidden).toEqual({
          id: 1,
          name: 'Ann',
          nick: null,
          center: { id: 1, name: 'North' },
          vitals: { height: 170 },
        });
        expect((await get(`/${api}.json?sort=name`, payer)).json.results[0]).toEqual({ ...hidden, salary: 10 });
      });

      test('ask the voter once, with a null subject', async () => {
        await get(`/${api}.json`, doctor);
        expect(votes).toEqual([['PERSON_MEDICAL', null]]);
      });

      test.each([
        'diagnosis=b',
        'center.alarm=7777',
        'vitals.weight=60',
        'sort=diagnosis',
        'sort=-diagnosis',
        'fields=diagnosis',
        'fields=center.alarm',
      ])('do not exist for others in ?%s', async (query) => {
        expect((await get(`/${api}.json?${query}`, doctor)).status).toBe(200);
        const denied = await get(`/${api}.json?${query}`, nurse);
        const unknown = await get(`/${api}.json?${query.replace(/diagnosis|alarm|weight/, 'nothing')}`, nurse);
        expect(denied.status).toBe(400);
        expect(denied.text.replace(/diagnosis|alarm|weight/g, 'nothing')).toBe(unknown.text);
        expect(unknown.text).not.toMatch(/diagnosis|alarm|weight|insurance|salary/);
      });

      test('are searched only for callers who are granted it', async () => {
        expect((await get(`/${api}.json?q=b`, doctor)).json.count).toBe(2);
        expect((await get(`/${api}.json?q=b`, nurse)).json.count).toBe(1);
      });

      test.each(['csv', 'xml', 'ndjson'])('are absent in %s', async (format) => {
        expect((await get(`/${api}.${format}`, doctor)).text).toMatch(/diagnosis/);
        const { status, text } = await get(`/${api}.${format}`, nurse);
        expect(status).toBe(200);
        expect(text).not.toMatch(/diagnosis|7777|weight|salary/);
      });

      test('give the list another ETag', async () => {
        const tag = async (as: Any) => (await get(`/${api}.json`, as)).headers.get('etag') as string;
        const [one, other] = [await tag(doctor), await tag(nurse)];
        expect(one).not.toBe(other);
        expect((await get(`/${api}.json`, nurse, { 'if-none-match': one })).status).toBe(200);
        expect((await get(`/${api}.json`, nurse, { 'if-none-match': other })).status).toBe(304);
      });
    });

    describe('in the default order', () => {
      test('do not order the list of others, nor appear in its links', async () => {
        const ids = async (as: Any) => (await get('/plain.json', as)).json.results.map(({ id }: Any) => id).slice(0, 3);
        expect(await ids(doctor)).toEqual([2, 1, 3]);
        expect(await ids(nurse)).toEqual([1, 2, 3]);
        const { next } = (await get('/plain.json?items_per_page=2', nurse)).json.pagination;
        expect((await get(next.replace(/^(?!\/)/, '/'), nurse)).json.results[0].id).toBe(3);
        const token = new URL(next, 'http://x').searchParams.get('after');
        expect(Buffer.from(token ?? '', 'base64url').toString()).not.toMatch(/"[abc]"/);
      });

      test('do not let a token of one set into another', async () => {
        const { next } = (await get('/plain.json?items_per_page=1', doctor)).json.pagination;
        expect((await get(next.replace(/^(?!\/)/, '/'), doctor)).status).toBe(200);
        expect((await get(next.replace(/^(?!\/)/, '/'), nurse)).status).toBe(400);
      });
    });

    describe.each(['person', 'plain'])('with a role on one entity of %s', (api) => {
      test('apply if the voter grants them for the entity', async () => {
        const own = (await get(`/${api}/1.json`, ann)).json;
        expect(own).toMatchObject({ diagnosis: 'b', insurance: 'i1', vitals: { height: 170, weight: 60 } });
        expect(own.center).toEqual({ id: 1, name: 'North' });
        const other = (await get(`/${api}/2.json`, ann)).json;
        expect(other).toEqual({ id: 2, name: 'Ben', nick: null, center: { id: 1, name: 'North' }, vitals: { height: 180 } });
      });

      test('ask the voter once with the entity, and once with null for embedded rows', async () => {
        await get(`/${api}/1.json`, ann);
        expect(votes.toSorted()).toEqual(
          [
            ['PERSON_MEDICAL', null],
            ['PERSON_MEDICAL', 1],
          ].toSorted(),
        );
      });

      test.each(['csv', 'xml'])('are absent in %s', async (format) => {
        expect((await get(`/${api}/1.${format}`, ann)).text).toMatch(/diagnosis/);
        expect((await get(`/${api}/2.${format}`, ann)).text).not.toMatch(/diagnosis|7777|weight/);
      });

      test('give the entity another ETag', async () => {
        const [one, other] = [await get(`/${api}/1.json`, ann), await get(`/${api}/1.json`, nurse)];
        expect(one.headers.get('etag')).not.toBe(other.headers.get('etag'));
        const cached = { 'if-none-match': other.headers.get('etag') as string };
        expect((await get(`/${api}/1.json`, nurse, cached)).status).toBe(304);
        expect((await get(`/${api}/1.json`, ann, cached)).status).toBe(200);
      });
    });

    describe.each(['person', 'plain'])('with a role in a write to %s', (api) => {
      const send = (method: string, path: string, json: unknown, as: Any, headers = {}) =>
        request(method, `/${api}${path}.json`, { as, json, headers });

      test('accept a field only from callers who are granted it', async () => {
        expect((await send('PATCH', '/1', { diagnosis: 'x' }, ann)).json).toMatchObject({ id: 1, diagnosis: 'x' });
        const denied = await send('PATCH', '/2', { diagnosis: 'x' }, ann);
        const unknown = await send('PATCH', '/2', { nothing: 'x' }, ann);
        expect(denied.status).toBe(400);
        expect(denied.text.replaceAll('diagnosis', 'nothing')).toBe(unknown.text);
        expect(unknown.text).not.toMatch(/diagnosis|insurance|salary/);
        const part = await send('PATCH', '/2', { vitals: { weight: 1 } }, ann);
        expect(part.text.replaceAll('weight', 'nothing')).toBe((await send('PATCH', '/2', { vitals: { nothing: 1 } }, ann)).text);
        expect((await send('PATCH', '/1', { diagnosis: 'b' }, doctor)).status).toBe(200);
      });

      test('ask the voter once with the entity, before the change', async () => {
        await send('PATCH', '/1', { nick: 'A' }, ann);
        expect(votes.toSorted()).toEqual(
          [
            ['PERSON_MEDICAL', null],
            ['PERSON_MEDICAL', 1],
          ].toSorted(),
        );
      });

      test('return the ETag of a read by the same caller', async () => {
        for (const as of [ann, nurse, doctor]) {
          const changed = await send('PATCH', '/1', { nick: `A${as.id}` }, as);
          const read = await get(`/${api}/1.json`, as);
          expect(changed.json).toEqual(read.json);
          expect(changed.headers.get('etag')).toBe(read.headers.get('etag'));
          const again = await send('PATCH', '/1', { nick: null }, as, { 'if-match': read.headers.get('etag') as string });
          expect(again.status).toBe(200);
        }
      });

      test('leave unseen fields as they are if a body is put back', async () => {
        const { json: read } = await get(`/${api}/2.json`, nurse);
        const put = await send('PUT', '/2', { ...read, center: { id: 1 }, nick: 'B' }, nurse);
        expect(put.status).toBe(200);
        expect(put.json).toEqual({ ...read, nick: 'B' });
        expect((await get(`/${api}/2.json`, doctor)).json).toMatchObject({ diagnosis: 'c', vitals: { height: 180, weight: 80 } });
        expect((await get(`/${api}/2.json`, payer)).json).toMatchObject({ salary: 20 });
        await send('PATCH', '/2', { nick: null }, nurse);
      });

      test('apply to creation with a null subject', async () => {
        const made = await send('POST', '', { name: 'New', diagnosis: 'n' }, doctor);
        expect(made.json).toMatchObject({ name: 'New', diagnosis: 'n' });
        expect(votes).toEqual([['PERSON_MEDICAL', null]]);
        const denied = await send('POST', '', { name: 'New', diagnosis: 'n' }, ann);
        expect(denied.text.replaceAll('diagnosis', 'nothing')).toBe(
          (await send('POST', '', { name: 'New', nothing: 'n' }, ann)).text,
        );
        const plain = await send('POST', '', { name: 'Plain' }, ann);
        expect(Object.keys(plain.json)).toEqual(['id', 'name', 'nick', 'center', 'vitals']);
        for (const { id } of [made.json, plain.json]) await request('DELETE', `/${api}/${id}.json`, { as: nurse });
      });

      test('are not asked for a removal', async () => {
        const made = await send('POST', '', { name: 'Gone' }, nurse);
        votes.length = 0;
        expect((await request('DELETE', `/${api}/${made.json.id}.json`, { as: nurse })).status).toBe(204);
        expect(votes).toEqual([]);
      });

      test('are not named in a conflict', async () => {
        await send('PATCH', '/3', { insurance: 'i3' }, doctor);
        const named = await send('PATCH', '/3', { insurance: 'i1' }, doctor);
        expect(named.status).toBe(409);
        expect(named.json.detail).toMatch(/insurance/);
      });

      test('are not replayed to a caller who has lost the role', async () => {
        const headers = { 'idempotency-key': `key of ${api}, compiled: ${compiledReads}` };
        const first = await send('PATCH', '/3', { nick: 'C' }, doctor, headers);
        expect(first.json.diagnosis).toBe('a');
        const same = await send('PATCH', '/3', { nick: 'C' }, doctor, headers);
        expect(same.json).toEqual(first.json);
        expect(same.headers.get('idempotency-replayed')).toBe('true');
        const lost = await send('PATCH', '/3', { nick: 'C' }, { id: doctor.id, roles: [] }, headers);
        expect(lost.status).toBe(200);
        expect(lost.headers.get('idempotency-replayed')).toBe('rebuilt');
        expect(lost.text).not.toMatch(/diagnosis|7777/);
      });
    });

    describe('with roles of the user alone', () => {
      test('apply to every action', async () => {
        for (const path of ['/pay.json', '/pay/1.json', '/pay.csv', '/pay/1.csv']) {
          expect((await get(path, payer)).text).toMatch(/salary/);
          expect((await get(path, nurse)).text).not.toMatch(/salary/);
        }
        expect((await request('PATCH', '/pay/3.json', { as: payer, json: { salary: 31 } })).json.salary).toBe(31);
        expect((await request('PATCH', '/pay/3.json', { as: nurse, json: { salary: 32 } })).status).toBe(400);
        const plain = await request('PATCH', '/pay/3.json', { as: nurse, json: { nick: 'C' } });
        expect(plain.status).toBe(200);
        expect('salary' in plain.json).toBe(false);
        expect(await rows('select salary from person where id = 3')).toEqual([{ salary: 31 }]);
      });
    });

    describe('in a custom action', () => {
      test('depend on the entity of the action', async () => {
        expect((await get('/person/1/self.json', ann)).json.diagnosis).toBe('b');
        expect('diagnosis' in (await get('/person/2/self.json', ann)).json).toBe(false);
      });

      test('depend on a null subject for other entities', async () => {
        const { other, self } = (await get('/person/1/both.json', ann)).json;
        expect(self.diagnosis).toBe('b');
        expect('diagnosis' in other).toBe(false);
        expect((await get('/person/1/both.json', doctor)).json.other.diagnosis).toBe('c');
      });

      test('decide about the filters of paginate', async () => {
        expect((await get('/person/listed.json?diagnosis=b', doctor)).json.count).toBe(1);
        const ignored = await get('/person/listed.json?diagnosis=b', nurse);
        expect(ignored.json.count).toBe((await get('/person/listed.json?nothing=b', nurse)).json.count);
        expect(ignored.json.results[0]).not.toHaveProperty('diagnosis');
      });

      test('apply if code names them', async () => {
        expect((await get('/person/1/shown.json', ann)).json).toEqual({
          id: 1,
          name: 'Ann',
          insurance: 'i1',
          diagnosis: 'b',
        });
        expect((await get('/person/2/shown.json', ann)).json).toEqual({ id: 2, name: 'Ben' });
      });
    });

    describe('in rows inside a response', () => {
      test('depend on a null subject, also if they are of the same class', async () => {
        const own = (await get('/circle/1.json', ann)).json;
        expect(own).toEqual({ id: 1, name: 'Ann', insurance: 'i1', diagnosis: 'b', friends: [{ id: 2 }] });
      });

      test('depend on a null subject for the item of an association', async () => {
        const item = await request('POST', '/short/1/friends.json', { as: ann, json: { id: 2 } });
        expect(item.json).toEqual({ id: 2, name: 'Ben' });
        const seen = await request('POST', '/short/1/friends.json', { as: doctor, json: { id: 2 } });
        expect(seen.json).toMatchObject({ id: 2, name: 'Ben', diagnosis: 'c' });
      });
    });
  });
});

describe('a declaration with groups does not start', () => {
  const { app_main: main } = options;
  const { person } = main.apis;
  const errorsOf = async (changed: object) => {
    const failure = await loadApplication({ ...(options as Any), app_main: { ...main, ...changed } }).catch(
      (error: Error) => error,
    );
    if (failure instanceof Error) return failure.message;
    await failure.mapper.close();
    return failure.warnings.map(({ message }) => message).join('\n');
  };

  test('if no property has the group', async () => {
    const groups = { read: ['read', 'read:medcal'] };
    expect(await errorsOf({ apis: { person: { ...person, groups, actions: { _entity: {} } } } })).toContain(
      'app_main.apis.person.groups.read.1: no property of Person, or of a model that it embeds, has the group "read:medcal"; did you mean "read:medical"?',
    );
  });

  test('if no voter judges the role of a group', async () => {
    const groups = { ...main.groups, 'read:pay': { role: 'PERSON_MEDICL' } };
    expect(await errorsOf({ groups })).toContain('app_main.groups.read:pay.role: no voter judges the role "PERSON_MEDICL"');
  });

  test('if a filter names a field outside the groups of its action', async () => {
    const actions = { _index: { groups: { read: ['short', 'read:pay'] }, filters: { nick: ['eq'] } } };
    expect(await errorsOf({ apis: { person: { ...person, actions } } })).toContain(
      '"nick" is not in one of the groups short, read:pay of Person',
    );
  });

  test('without a warning if no API uses a group', async () => {
    const groups = { ...main.groups, spare: { role: 'ROLE_SPARE' } };
    expect(await errorsOf({ groups })).toContain('no API uses the group "spare"');
    expect(await errorsOf({})).not.toContain('uses the group');
  });
});
