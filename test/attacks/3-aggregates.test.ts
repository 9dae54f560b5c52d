// @module-tag divided
import { describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { type Answer, useTarget } from './support/target.ts';
import { marker } from './support/vault.ts';
import { medic, nurse, ward } from './support/ward.ts';

const path = '/patient/aggregate.json';

class FewController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<any>): void {
    query.limit(2);
  }
}

const { apis, ...main } = ward.app_main as any;
const app = {
  ...ward,
  app_main: {
    ...main,
    apis: {
      ...apis,
      patient: {
        ...apis.patient,
        aggregate: {
          by: [
            'name',
            'diagnosis',
            'remark',
            'address.city',
            'address.door',
            'doctor.name',
            'doctor.pager',
            'guardian.id',
            'diary',
          ],
          of: { id: ['min', 'max'], score: ['sum', 'avg', 'min', 'max'], badge: ['min', 'max'], 'guardian.name': ['max'] },
        },
      },
      bed: { ...apis.bed, controller: FewController, default_sort: ['-serial'], aggregate: { by: ['name'] } },
      visit: {
        ...apis.visit,
        aggregate: { by: ['patient.name', 'patient.diagnosis'], of: { finding: ['min'], 'patient.score': ['sum'] } },
      },
    },
  },
  controllers: [FewController],
} as never;

/** Medical names, each with one that does not exist. */
const twins: readonly [string, string, string][] = [
  ['by=diagnosis', 'diagnosis', 'diagnosiz'],
  ['by=name,diagnosis', 'diagnosis', 'diagnosiz'],
  ['by=remark', 'remark', 'remarz'],
  ['by=address.door', 'address.door', 'address.dooz'],
  ['by=doctor.pager', 'doctor.pager', 'doctor.pagez'],
  ['by=guardian.id', 'guardian.id', 'guardiaz.id'],
  ['by=diary', 'diary', 'diarz'],
  ['of=score:sum', 'score', 'scorz'],
  ['of=id:max,score:avg', 'score', 'scorz'],
  ['of=badge:max', 'badge', 'badgz'],
  ['of=guardian.name:max', 'guardian.name', 'guardiaz.name'],
  ['by=name&sort=score:max', 'score', 'scorz'],
  ['by=name&sort=-badge:min', 'badge', 'badgz'],
  ['sort=diagnosis', 'diagnosis', 'diagnosiz'],
  ['diagnosis[starts]=H', 'diagnosis', 'diagnosiz'],
  ['by=name&or[0][score][gte]=1', 'score', 'scorz'],
  ['doctor.pager[starts]=H', 'doctor.pager', 'doctor.pagez'],
];

function withoutMoment({ headers, status, text }: Answer) {
  const { date: _, 'x-request-id': __, ...rest } = headers;
  return { status, headers: rest, text };
}

describe.each(databases)('API3:2023 broken object property level authorization: aggregates, on %s', (kind) => {
  const target = useTarget(kind, app);
  const get = (at: string, user = nurse) => target.send('GET', at, { as: user });

  test.each(twins)('?%s gets the error of an unknown name', async (query, name, twin) => {
    for (const format of ['json', 'csv', 'xml', 'ndjson']) {
      const at = path.replace('json', format);
      const one = await get(`${at}?${query}`);
      const other = await get(`${at}?${query.replaceAll(name, twin)}`);
      expect(one.status).toBe(400);
      expect(JSON.parse(JSON.stringify(withoutMoment(one)).replaceAll(name, twin))).toEqual(withoutMoment(other));
    }
  });

  test('messages list only the names that exist for the caller', async () => {
    for (const query of ['by=nothing', 'of=nothing', 'by=name&sort=nothing', 'nothing=1', 'name[nothing]=1']) {
      const { status, text } = await get(`${path}?${query}`);
      expect(status).toBe(400);
      expect(text).not.toMatch(/diagnosis|remark|door|pager|guardian|score|badge|diary|history|visits/);
      if (!query.startsWith('name')) expect((await get(`${path}?${query}`, medic)).text).toMatch(/diagnosis|score/);
    }
  });

  test('HEAD and entity tags do not tell about unseen values', async () => {
    const before = await target.send('HEAD', `${path}?by=name&of=id:max`, { as: nurse });
    await target.rows(`update patient set score = 7349999, diagnosis = '${marker}other' where id = 3`);
    const after = await target.send('HEAD', `${path}?by=name&of=id:max`, { as: nurse });
    expect(withoutMoment(after)).toEqual(withoutMoment(before));
    await target.rows(`update patient set score = 7340060, diagnosis = '${marker}diagnosis' where id = 3`);
    const privileged = await target.send('HEAD', `${path}?by=name&of=id:max,score:max`, { as: medic });
    expect(privileged.status).toBe(200);
    expect((await target.send('HEAD', `${path}?by=name&of=id:max,score:max`, { as: nurse })).status).toBe(400);
  });

  test('through another API, with callers of both kinds at once', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        get('/visit/aggregate.json?by=patient.diagnosis&of=patient.score:sum', i % 2 === 0 ? nurse : medic),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map((_, i) => (i % 2 === 0 ? 400 : 200)));
    for (const [i, { whole }] of replies.entries()) expect(whole.includes(marker)).toBe(i % 2 === 1);
  });

  test('a restriction to a number of rows does not follow an order by an unseen field', async () => {
    const { json } = await get('/bed.json');
    const names = json.results.map(({ name }: { name: string }) => name);
    expect(names).toEqual(['bed 1', 'bed 2']);
    const groups = (await get('/bed/aggregate.json?by=name')).json.results;
    expect(groups.map(({ name }: { name: string }) => name)).toEqual(names);
    const privileged = (await get('/bed/aggregate.json?by=name', medic)).json.results;
    expect(privileged.map(({ name }: { name: string }) => name)).toEqual(['bed 5', 'bed 6']);
  });

  test('the OpenAPI document names the roles of fields', async () => {
    const { json } = await target.send('GET', '/openapi.json', { as: medic });
    const { parameters } = json.paths[path].get;
    const parameter = (name: string) => parameters.find((each: { name: string }) => each.name === name);
    expect(parameter('by')['x-role-of']).toEqual({
      diagnosis: 'MEDICAL',
      remark: 'MEDICAL',
      'address.door': 'MEDICAL',
      'doctor.pager': 'MEDICAL',
      'guardian.id': 'MEDICAL',
      diary: 'OWNER',
    });
    expect(parameter('by').description).toContain('`diagnosis` is only for callers with the role MEDICAL.');
    expect(parameter('of')['x-role-of']['score:sum']).toBe('MEDICAL');
    expect(parameter('of')['x-role-of']['id:min']).toBeUndefined();
    expect(parameter('sort')['x-role-of']['score:sum']).toBe('MEDICAL');
    expect(parameter('diagnosis[starts]')['x-role']).toBe('MEDICAL');
    const { properties, required } = json.components.schemas.PatientAggregate;
    expect(required).toEqual(['count']);
    expect(properties.diagnosis).toMatchObject({ 'x-role': 'MEDICAL', description: 'Only for callers with the role MEDICAL.' });
    expect(properties.score['x-role']).toBe('MEDICAL');
    expect(properties['doctor.pager']['x-role']).toBe('MEDICAL');
    expect(properties.name['x-role']).toBeUndefined();
  });
});
