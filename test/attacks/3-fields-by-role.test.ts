// @module-tag divided
import { describe, expect, test } from 'vitest';
import { parseCsv } from '../support/csv.ts';
import { databases } from '../support/databases.ts';
import { type Answer, useTarget } from './support/target.ts';
import { marker } from './support/vault.ts';
import { medic, nurse, takenName, ward } from './support/ward.ts';

/** Names of medical fields, each with one of the same length that does not exist. */
const twins: Readonly<Record<string, string>> = {
  diagnosis: 'diagnosiz',
  score: 'scorz',
  badge: 'badgz',
  history: 'historz',
  summary: 'summarz',
  guardian: 'guardiaz',
  staff: 'stafz',
  visits: 'visitz',
  'address.door': 'address.dooz',
  'doctor.pager': 'doctor.pagez',
  'guardian.id': 'guardiaz.id',
  'staff.name': 'stafz.name',
  'visits.finding': 'visitz.finding',
};

function withoutMoment({ headers, status, text }: Answer) {
  const { date: _, 'x-request-id': __, ...rest } = headers;
  return { status, headers: rest, text };
}

describe.each(databases)('API3:2023 broken object property level authorization: fields by role, on %s', (kind) => {
  const target = useTarget(kind, ward);
  const as = nurse;
  const patients = () => target.rows('select * from patient order by id');
  const get = (path: string, user = nurse) => target.send('GET', path, { as: user });
  /** The response to a request with a name that does not exist for the caller, and to one with a name that does not exist at all. */
  const expectLike = (one: Answer, other: Answer, name: string, twin: string) => {
    expect(one.status).toBeGreaterThanOrEqual(400);
    const renamed = JSON.parse(JSON.stringify(withoutMoment(one)).replaceAll(name, twin));
    expect(renamed).toEqual(withoutMoment(other));
  };

  describe('responses', () => {
    const paths = [
      '/patient.json?items_per_page=6',
      '/patient/2.json',
      '/patient.json?fields=doctor,address&sort=name',
      '/patient.json?q=patient',
      '/short.json',
      '/visit.json',
      '/visit/1.json',
      '/doctor.json',
      '/doctor/1.json',
      '/bed.json',
      '/bed/1.json',
      '/paper.json',
      '/paper/1.json',
      ...['csv', 'ndjson', 'xml'].flatMap((format) => [
        `/patient.${format}`,
        `/patient/2.${format}`,
        `/visit.${format}`,
        `/visit/2.${format}`,
        `/paper.${format}`,
      ]),
    ];

    test.each(paths)('never contain a field or value of a group that is not granted, %s', async (path) => {
      const seen = await get(path);
      expect(seen.status).toBe(200);
      expect(seen.whole).not.toContain(marker);
      expect(seen.whole).not.toMatch(/diagnosis|score|guardian|staff|visits|pager|finding|serial|history|summary|7340/);
      const privileged = await get(path, medic);
      if (!path.includes('short') && !path.includes('fields=')) expect(privileged.text).toContain(marker);
    });

    test('a field that depends on the row exists for its owner only, and in no list (null subject)', async () => {
      expect((await get('/patient/1.json')).json.diary).toBe(`${marker}diary-1`);
      for (const path of ['/patient/2.json', '/patient.json?items_per_page=6', '/visit/1.json', '/visit.json'])
        expect((await get(path)).text).not.toContain('diary');
    });

    test('the columns of CSV are those of the granted groups', async () => {
      const columnsOf = async (user: typeof nurse) => parseCsv((await get('/patient.csv', user)).text).header;
      const [few, many] = [await columnsOf(nurse), await columnsOf(medic)];
      expect(few).toEqual(
        many.filter((name) => !/diagnosis|score|badge|remark|history|summary|guardian|staff|visits|pager|door/.test(name)),
      );
      expect(few).toEqual(['id', 'name', 'address.city', 'stays', 'doctor.id', 'doctor.name']);
    });

    test('HEAD does not reveal the length of a value', async () => {
      const lengths = [];
      for (const id of [1, 3, 5]) {
        await target.rows(`update patient set diary = null, diagnosis = '${'x'.repeat(id * 20)}' where id = ${id}`);
        lengths.push((await target.send('HEAD', `/patient/${id}.json`, { as })).headers['content-length']);
      }
      expect(new Set(lengths).size).toBe(1);
      for (const id of [1, 3, 5])
        await target.rows(`update patient set diary = '${marker}diary-${id}', diagnosis = '${marker}diagnosis' where id = ${id}`);
    });

    test('an embedded object with only unseen parts looks like one without values', async () => {
      await target.rows(`update patient set address_city = null, address_door = null where id = 2`);
      const without = await get('/patient/2.json');
      await target.rows(`update patient set address_door = '${marker}door-2' where id = 2`);
      expect(withoutMoment(await get('/patient/2.json'))).toEqual(withoutMoment(without));
      await target.rows(`update patient set address_city = 'city 2' where id = 2`);
    });

    test('the default order does not follow a field that does not exist for the caller', async () => {
      const idsOf = async (user: typeof nurse) =>
        (await get('/patient.json?items_per_page=6', user)).json.results.map(({ id }: { id: number }) => id);
      expect(await idsOf(medic)).toEqual([3, 5, 6, 1, 4, 2]);
      expect(await idsOf(nurse)).toEqual([1, 2, 3, 4, 5, 6]);
    });
  });

  describe('query parameters', () => {
    const queries = [
      ...Object.keys(twins).map((name) => `sort=${name}`),
      ...Object.keys(twins).map((name) => `fields=${name}`),
      ...Object.keys(twins).map((name) => `${name}[eq]=x`),
      ...Object.keys(twins).map((name) => `${name}[exists]=true`),
      'diagnosis=HIDDEN-diagnosis-x',
      'diagnosis[starts]=HIDDEN',
      'score[gte]=7340030',
      'badge[in]=HIDDEN-badge-1',
      'address.door[starts]=HIDDEN',
      'doctor.pager[starts]=HIDDEN',
      'visits.finding[contains]=HIDDEN',
      'or[0][diagnosis][starts]=H&or[1][name]=x',
      'or[0][or][0][diagnosis]=x',
      'sort=-diagnosis',
      'sort=name,diagnosis',
      'fields=id,diagnosis',
      'diagnosis[like]=x',
    ];

    test.each(queries)('a name that does not exist for the caller gets the error of an unknown name, ?%s', async (query) => {
      const [name, twin] = Object.entries(twins)
        .filter(([each]) => query.includes(each))
        .sort(([a], [b]) => b.length - a.length)[0] as [string, string];
      for (const path of ['/patient.json', '/patient.csv']) {
        const one = await get(`${path}?${query}`);
        const other = await get(`${path}?${query.replaceAll(name, twin)}`);
        expectLike(one, other, name, twin);
        expect(one.status).toBe(400);
      }
    });

    test.each([
      'patient.diagnosis[starts]=H',
      'sort=patient.diagnosis',
      'sort=finding',
      'finding=HIDDEN-finding-1',
      'fields=patient.diagnosis',
    ])('also through another API, ?%s', async (query) => {
      const [name, twin] = query.includes('finding') ? ['finding', 'findinz'] : ['diagnosis', 'diagnosiz'];
      expectLike(await get(`/visit.json?${query}`), await get(`/visit.json?${query.replaceAll(name, twin)}`), name, twin);
    });

    test('search does not look into unseen fields, and does not exist if it would look into no other', async () => {
      expect((await get('/patient.json?q=HIDDEN', medic)).json.count).toBe(6);
      expect((await get('/patient.json?q=HIDDEN')).json.count).toBe(0);
      expect((await get('/patient.json?q=patient')).json.count).toBe(6);
      expect((await get('/visit.json?q=HIDDEN')).json).toMatchObject({ status: 400, code: 'unknown_parameter' });
    });

    test('lists of allowed parameters name only fields of granted groups', async () => {
      for (const query of ['nonsense=1', 'sort=nonsense', 'fields=nonsense', 'name[nonsense]=x']) {
        const { status, text } = await get(`/patient.json?${query}`);
        expect(status).toBe(400);
        expect(text).not.toMatch(/diagnosis|score|badge\[|history|guardian|staff|visits|pager|door/);
        expect((await get(`/patient.json?${query}`, medic)).text).toMatch(query.startsWith('name') ? /name/ : /diagnosis/);
      }
    });

    test('a link of a caller with more groups cannot be followed', async () => {
      const link = (await get('/patient.json?sort=diagnosis', medic)).json.pagination.next as string;
      expectLike(await get(link), await get(link.replace('diagnosis', 'diagnosiz')), 'diagnosis', 'diagnosiz');
    });

    test('a page token of a caller with more groups does not reveal an order', async () => {
      const token = (link: string) => /after=([^&]+)/.exec(link)?.[1];
      const replies = new Set<string>();
      for (const by of ['diagnosis', '-diagnosis', 'score', '-score', 'doctor.pager']) {
        const after = token((await get(`/patient.json?sort=${by}`, medic)).json.pagination.next);
        const answer = await get(`/patient.json?page=2&after=${after}`);
        replies.add(JSON.stringify([answer.status, answer.json.code, answer.json.results]));
        expect(answer.whole).not.toContain(marker);
      }
      expect(replies.size).toBe(1);
      // the default order of the medic is by score
      const after = token((await get('/patient.json', medic)).json.pagination.next);
      const answer = await get(`/patient.json?page=2&after=${after}`);
      const ids = (answer.json.results ?? []).map(({ id }: { id: number }) => id);
      expect(ids).toEqual([...ids].sort());
    });
  });

  describe('entity tags', () => {
    test('differ between sets of groups, and do not confirm each other', async () => {
      for (const path of ['/patient/2.json', '/patient.json', '/visit/2.json', '/patient.csv', '/patient/2.xml']) {
        const privileged = (await get(path, medic)).headers.etag;
        if (privileged === undefined) continue;
        const answer = await target.send('GET', path, { as, headers: { 'if-none-match': String(privileged) } });
        expect(answer.status).toBe(200);
        expect(answer.headers.etag).not.toBe(privileged);
      }
    });

    test('do not change with a value that the caller cannot see', async () => {
      const before = (await get('/patient/2.json')).headers.etag;
      await target.rows(`update patient set diagnosis = '${marker}other', score = 7340001 where id = 2`);
      expect((await target.send('GET', '/patient/2.json', { as, headers: { 'if-none-match': String(before) } })).status).toBe(
        304,
      );
      await target.rows(`update patient set diagnosis = '${marker}diagnosis', score = 7340010 where id = 2`);
    });

    test('of a caller with more groups are no precondition of a change', async () => {
      const privileged = (await get('/patient/2.json', medic)).headers.etag;
      const send = (tag: string) =>
        target.send('PATCH', '/patient/2.json', { as, json: { name: 'patient 2' }, headers: { 'if-match': tag } });
      const right = await send(String(privileged));
      const wrong = await send(String(privileged).replace(/[0-9a-f](?="$)/, (digit) => (digit === '0' ? '1' : '0')));
      expect(withoutMoment(right)).toEqual(withoutMoment(wrong));
    });
  });

  describe('bodies', () => {
    const bodies: [name: string, twin: string, body: unknown][] = [
      ['diagnosis', 'diagnosiz', { diagnosis: 'guess' }],
      ['diagnosis', 'diagnosiz', { diagnosis: `${marker}diagnosis` }],
      ['diagnosis', 'diagnosiz', { diagnosis: null }],
      ['diagnosis', 'diagnosiz', { diagnosis: 5 }],
      ['diagnosis', 'diagnosiz', { diagnosis: 'invalid' }],
      ['diagnosis', 'diagnosiz', { name: 5, diagnosis: 'x' }],
      ['score', 'scorz', { score: 'text' }],
      ['badge', 'badgz', { badge: `${marker}badge-1` }],
      ['badge', 'badgz', { badge: 'free' }],
      ['history', 'historz', { history: { a: null } }],
      ['summary', 'summarz', { summary: 'x' }],
      ['guardian', 'guardiaz', { guardian: { id: 1 } }],
      ['guardian', 'guardiaz', { guardian: { id: 99 } }],
      ['guardian', 'guardiaz', { guardian: null }],
      ['staff', 'stafz', { staff: [{ id: 1 }] }],
      ['visits', 'visitz', { visits: [] }],
      ['door', 'dooz', { address: { door: 'x' } }],
      ['door', 'dooz', { address: { city: 'city 2', door: null } }],
      ['pager', 'pagez', { doctor: { id: 1, pager: 'x' } }],
      ['pager', 'pagez', { doctor: { id: 1, pager: `${marker}pager-1` } }],
      ['diary', 'diarz', { diary: 'x' }],
    ];

    test.each(bodies)(
      '%s gets the error of the unknown name %s, in %j',
      async (...[name, twin, json]: [string, string, unknown]) => {
        const before = await patients();
        for (const [method, path] of [
          ['PATCH', '/patient/2.json'],
          ['PUT', '/patient/2.json'],
          ['POST', '/patient.json'],
        ] as const) {
          const sent = { ...(method !== 'PATCH' && { name: 'patient 2' }), ...(json as object) };
          const one = await target.send(method, path, { as, json: sent });
          const other = await target.send(method, path, {
            as,
            json: JSON.parse(JSON.stringify(sent).replaceAll(`"${name}":`, `"${twin}":`)),
          });
          expectLike(one, other, name, twin);
          expect(one.text).not.toContain(marker + (JSON.stringify(json).includes(marker) ? 'nothing' : ''));
        }
        expect(await patients()).toEqual(before);
      },
    );

    test('the owner of a row may write what others may not', async () => {
      const { json, status } = await target.send('PATCH', '/patient/1.json', { as, json: { diary: 'written' } });
      expect([status, json.diary]).toEqual([200, 'written']);
      // no row yet, so no owner
      expect((await target.send('POST', '/patient.json', { as, json: { name: 'x', diary: 'x' } })).status).toBe(400);
    });

    test('PUT of what was read leaves unseen fields as they are', async () => {
      for (const id of [1, 2, 3]) {
        const before = await patients();
        const { json } = await get(`/patient/${id}.json`);
        const { doctor, ...rest } = json;
        const answer = await target.send('PUT', `/patient/${id}.json`, { as, json: { ...rest, doctor: { id: doctor.id } } });
        expect([answer.status, answer.json]).toEqual([200, json]);
        expect(await patients()).toEqual(before);
      }
    });

    test.each([
      ['PATCH', { address: null }],
      ['PUT', { name: 'patient 4', address: null }],
      ['PUT', { name: 'patient 4' }],
      ['PUT', { name: 'patient 4', address: { city: 'new' } }],
      ['PATCH', { address: {} }],
    ])('%s %j keeps the unseen parts of an embedded object', async (method, json) => {
      const doorOf = () =>
        target.rows('select address_door, diagnosis, score, badge, history, guardian_id, remark from patient where id = 4');
      const before = await doorOf();
      const answer = await target.send(method as string, '/patient/4.json', { as, json });
      expect(answer.status).toBe(200);
      expect(await doorOf()).toEqual(before);
      await target.rows(`update patient set address_city = 'city 4', doctor_id = 2 where id = 4`);
    });

    test('an item that stays in an embedded list keeps its unseen parts', async () => {
      const doors = async () => (await get('/patient/5.json', medic)).json.stays.map(({ door }: any) => door);
      const [first, second] = await doors();
      const stays = [{ city: 'new' }, { city: 'city 6' }, { city: 'city 5' }];
      expect((await target.send('PATCH', '/patient/5.json', { as, json: { stays } })).status).toBe(200);
      expect(await doors()).toEqual([null, second, first]);
    });

    test.each([
      ['PATCH', { place: null }],
      ['PUT', { reason: 'reason 3', patient: { id: 3 }, place: null }],
      ['PUT', { reason: 'reason 3', patient: { id: 3 } }],
    ])('%s %j without a required embedded object does not tell whether its unseen parts have values', async (method, json) => {
      const send = () => target.send(method as string, '/visit/3.json', { as, json });
      const withDoor = await send();
      expect([withDoor.status, withDoor.json.violations?.[0].propertyPath]).toEqual([422, 'place']);
      await target.rows('update visit set place_door = null where id = 3');
      expect(withoutMoment(await send())).toEqual(withoutMoment(withDoor));
      await target.rows(`update visit set place_door = '${marker}door-3' where id = 3`);
    });

    test('a conflict with an unseen unique column does not name it', async () => {
      const privileged = await target.send('PATCH', '/patient/2.json', { as: medic, json: { badge: `${marker}badge-1` } });
      expect([privileged.status, privileged.text.includes('badge')]).toEqual([409, true]);
      const answer = await target.send('POST', '/patient.json', { as, json: { name: takenName } });
      expect(answer.status).toBe(409);
      expect(answer.json.detail).not.toMatch(/\bcode\b/);
      expect(answer.whole).not.toContain(marker);
    });

    test('an unseen field without a value is not named', async () => {
      const answer = await target.send('POST', '/bed.json', { as, json: { name: 'new' } });
      expect(answer.status).toBe(422);
      expect(answer.text).not.toContain('serial');
      expect((await target.send('POST', '/bed.json', { as: medic, json: { name: 'new' } })).text).toContain('serial');
    });

    test('a violation of an unseen field is not named', async () => {
      await target.rows(`update patient set diagnosis = '${marker}invalid' where id = 6`);
      const answer = await target.send('PATCH', '/patient/6.json', { as, json: { name: 'patient 6' } });
      expect(answer.text).not.toMatch(/diagnosis|invalid"/);
      await target.rows(`update patient set diagnosis = '${marker}diagnosis' where id = 6`);
    });

    test('a reference does not set or reveal fields of the row', async () => {
      const before = await patients();
      for (const [name, twin] of [
        ['diagnosis', 'diagnosiz'],
        ['badge', 'badgz'],
        ['guardian', 'guardiaz'],
      ] as const) {
        const send = (key: string) =>
          target.send('POST', '/visit.json', { as, json: { reason: 'x', patient: { id: 1, [key]: 'x' } } });
        expectLike(await send(name), await send(twin), name, twin);
      }
      expect(await patients()).toEqual(before);
    });

    test('a change of the discriminator brings no field', async () => {
      const type = await target.send('PATCH', '/paper/2.json', { as, json: { type: 'letter', wording: 'x' } });
      expect(type.status).toBe(400);
      const send = (key: string) => target.send('POST', '/paper.json', { as, json: { type: 'letter', title: 'x', [key]: 'x' } });
      expectLike(await send('wording'), await send('wordinz'), 'wording', 'wordinz');
      const made = await target.send('POST', '/paper.json', { as, json: { type: 'letter', title: 'x', stamp: 'y' } });
      expect(made.status).toBe(201);
      expect(made.text).not.toContain('wording');
      await target.rows(`delete from paper where id = ${made.json.id}`);
    });
  });

  describe('a role that was lost', () => {
    const before = { id: 'rita', roles: ['ROLE_USER', 'ROLE_MEDICAL'] };
    const after = { id: 'rita', roles: ['ROLE_USER'] };

    test('counts for the next request', async () => {
      expect((await get('/patient/2.json', before)).text).toContain(marker);
      expect((await get('/patient/2.json', after)).text).not.toContain(marker);
      expect((await get('/patient/2.json', before)).text).toContain(marker);
    });

    test.each([
      ['POST', '/patient.json', { name: 'kept', diagnosis: `${marker}kept` }],
      ['PATCH', '/patient/2.json', { diagnosis: `${marker}kept` }],
      ['PATCH', '/patient/2.json', { name: 'patient 2' }],
      ['PUT', '/visit/2.json', { reason: 'reason 2', place: {}, patient: { id: 2 } }],
    ])('is not replaced by the idempotency key of %s %s %j', async (method, path, json) => {
      const headers = { 'idempotency-key': `key of ${method} ${JSON.stringify(json)}` };
      const send = (user: typeof nurse) => target.send(method as string, path as string, { as: user, headers, json });
      const first = await send(before);
      expect(first.text).toContain(marker);
      const count = await target.rows('select count(*) as n from patient');
      const replay = await send(after);
      expect(replay.whole).not.toContain(marker);
      expect(replay.text).not.toMatch(/score|guardian|history|pager/);
      expect(await target.rows('select count(*) as n from patient')).toEqual(count);
      // with the role, the stored response is still there
      expect((await send(before)).text).toBe(first.text);
      if (method === 'POST') await target.rows(`delete from patient where name = 'kept'`);
    });
  });

  describe('descriptions', () => {
    test('the explanation of a request shows no value that the caller cannot see', async () => {
      for (const path of ['/patient/2.json', '/patient.json', '/visit.json', '/patient.json?diagnosis[starts]=H'])
        expect(JSON.stringify(await target.app.explain('GET', path, { as: nurse }))).not.toContain(marker);
    });
  });
});
