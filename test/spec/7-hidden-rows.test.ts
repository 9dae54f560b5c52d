import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import { beforeEach, describe, expect } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery, problem } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { partOf } from '../support/random.ts';
import { everything, security, useApplication } from './fixtures/use-application.ts';

type Any = any;

/** Teams and agents that only chiefs see; missions, which everybody does. */
function agency(options: { compiledReads: boolean }) {
  const Team = defineEntity({
    name: 'Team',
    properties: {
      id: p.integer().primary().groups('read'),
      name: p.string().groups('read', 'write'),
      secret: p.boolean().default(false),
      members: () => (p.oneToMany(Agent as Any) as Any).mappedBy('team').groups('read'),
    },
  });
  const Agent: Any = defineEntity({
    name: 'Agent',
    properties: {
      id: p.integer().primary().groups('read'),
      name: p.string().groups('read', 'write'),
      covered: p.boolean().default(false),
      team: () => p.manyToOne(Team).nullable().groups('read', 'write'),
      boss: () => (p.manyToOne(Agent as Any) as Any).nullable().groups('read', 'write'),
      missions: () => (p.manyToMany(Mission as Any) as Any).mappedBy('agents').groups('read'),
    },
  });
  const Asset: Any = defineEntity({
    name: 'Asset',
    abstract: true,
    discriminatorColumn: 'type',
    properties: {
      id: p.integer().primary().groups('read'),
      type: p.string().groups('read'),
      label: p.string().groups('read', 'write'),
      mission: () => (p.manyToOne(Mission as Any) as Any).nullable(),
    },
  } as Any);
  const Car = defineEntity({ name: 'Car', extends: Asset, discriminatorValue: 'car', properties: {} } as Any);
  const House = defineEntity({
    name: 'House',
    extends: Asset,
    discriminatorValue: 'house',
    properties: { safe: p.boolean().nullable() },
  } as Any);
  const MissionSchema = defineEntity({
    name: 'Mission',
    properties: {
      id: p.integer().primary().groups('read'),
      title: p.string().groups('read', 'write'),
      lead: () => (p.manyToOne(Agent as Any) as Any).nullable().groups('read', 'write'),
      base: () => (p.manyToOne(Asset as Any) as Any).nullable().groups('read'),
      about: () => (p.manyToOne([Agent, Team] as Any) as Any).nullable().groups('read'),
      agents: () => (p.manyToMany(Agent as Any) as Any).owner().groups('read', 'write'),
      assets: () => (p.oneToMany(Asset as Any) as Any).mappedBy('mission').groups('read'),
    },
  });
  class Mission extends (MissionSchema.class as Any) {
    addAgent(agent: object): object {
      (this as Any).agents.add(agent);
      return this;
    }
    removeAgent(agent: object): object {
      (this as Any).agents.remove(agent);
      return this;
    }
  }
  MissionSchema.setClass(Mission as never);
  const DossierSchema = defineEntity({
    name: 'Dossier',
    properties: {
      id: p.integer().primary().groups('read'),
      mission: () => (p.manyToOne(Mission as Any) as Any).groups('read'),
      contacts: p.json<Any>().persist(false).getter().groups('read'),
    },
  });
  class Dossier extends (DossierSchema.class as Any) {
    get contacts(): unknown {
      const { lead, agents } = (this as Any).mission;
      return { first: lead, all: agents.getItems(false), byName: new Map([['lead', lead]]) };
    }
  }
  DossierSchema.setClass(Dossier as never);

  const isChief = (request: ApiRequest) => request.user?.roles.includes('ROLE_CHIEF') === true;
  class TeamController extends ApiController {
    override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Any>) {
      if (!isChief(request)) query.andWhere({ secret: false });
    }
  }
  class AgentController extends ApiController {
    override async customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Any>) {
      // as good as any other way to use what belongs to the request
      await this.em.execute('select 1');
      if (request.headers['x-banned']) throw problem('access_denied');
      if (!isChief(request)) query.andWhere({ covered: false });
    }
  }
  class HouseController extends ApiController {
    override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Any>) {
      if (!isChief(request)) query.andWhere({ safe: false });
    }
  }
  class MissionController extends ApiController {
    async reportApi() {
      const missions = await this.em.find(Mission as Any, {}, { orderBy: { id: 'asc' } as Any });
      return { first: missions[0], rest: new Set(missions.slice(1)) };
    }
  }
  const reading = { _index: { methods: { GET: true, HEAD: true } }, _entity: { methods: { GET: true, HEAD: true } } };
  return {
    ...options,
    models: [Team, Agent, Asset, Car, House, Mission, Dossier] as Any[],
    controllers: [TeamController, AgentController, HouseController, MissionController],
    app_main: {
      formats: ['json', 'xml', 'csv', 'ndjson'] as const,
      security,
      apis: {
        team: { class: Team, base_path: '/team', controller: TeamController, actions: everything },
        agent: { class: Agent, base_path: '/agent', controller: AgentController, actions: everything },
        archive: { class: Agent, base_path: '/archive', base_role: 'ROLE_ARCHIVIST', actions: reading },
        // shows nobody a row, and so is no way to see one
        recruit: { class: Agent, base_path: '/recruit', actions: { _index: { methods: { POST: true } } } },
        house: { class: House, base_path: '/house', controller: HouseController, actions: reading },
        mission: {
          class: Mission,
          base_path: '/mission',
          controller: MissionController,
          actions: {
            ...everything,
            report: { single_collection: 'collection' as const, methods: { GET: true } },
            agents: { association: { property: 'agents' }, methods: { POST: true, DELETE: true } },
          },
        },
        led: { class: Mission, base_path: '/led', default_sort: ['lead.name'], actions: { _index: { methods: { GET: true } } } },
        dossier: { class: Dossier, base_path: '/dossier', actions: reading },
      } as Any,
    },
    seed: async (em: EntityManager) => {
      const create = (model: Any, data: object): Any => em.create(model, data as never);
      const open = create(Team, { id: 1, name: 'open' });
      const dark = create(Team, { id: 2, name: 'DARK', secret: true });
      const anna = create(Agent, { id: 1, name: 'anna', team: open });
      const bert = create(Agent, { id: 2, name: 'BERT', team: open, covered: true });
      const carl = create(Agent, { id: 3, name: 'carl', team: dark, boss: bert });
      const first = create(Mission, { title: 'first', lead: bert, about: dark });
      const second = create(Mission, { title: 'second', lead: anna, about: carl });
      first.agents.add([anna, bert, carl]);
      second.agents.add([bert]);
      await em.persist([open, dark, anna, bert, carl, first, second]).flush();
      const car = create(Car, { id: 1, label: 'car', mission: first });
      const safe = create(House, { id: 2, label: 'SAFE', mission: first, safe: true });
      const flat = create(House, { id: 3, label: 'flat', mission: first, safe: false });
      await em.persist([car, safe, flat]).flush();
      first.base = safe;
      second.base = flat;
      await em.persist(create(Dossier, { id: 1, mission: first })).flush();
    },
  };
}

const chief = { id: 9, roles: ['ROLE_CHIEF'] };
const archivist = { id: 8, roles: ['ROLE_ARCHIVIST'] };

describe.each(
  databases.flatMap((database, turn) => partOf([true, false], 2, turn).map((compiledReads) => ({ database, compiledReads }))),
)('embedded rows that their API hides, on $database, compiled: $compiledReads', ({ database, compiledReads }) => {
  const application = useApplication(database, agency({ compiledReads }));
  const running = {
    ...application,
    request: (method: string, path: string, request = {}) =>
      application.request(method, path.replace(/(?=\?|$)/, '.json'), request),
  };
  const get = async (path: string, request = {}) => {
    const response = await running.request('GET', path, request);
    expect(response.status, response.text).toBe(200);
    return response;
  };
  const hidden = ['BERT', 'DARK', 'SAFE'];
  const expectNone = (text: string) => {
    for (const name of hidden) expect(text).not.toContain(name);
  };
  const linkOf = async (column: string) =>
    (await running.rows(`select ${column} as n from mission where id = 1`))[0]?.n as number | null;
  const linked = async () =>
    (await running.rows('select agent_id as n from mission_agents where mission_id = 1 order by agent_id')).map(({ n }) =>
      Number(n),
    );

  beforeEach(async () => {
    await running.rows(`update mission set title = 'first', lead_id = 2 where id = 1`);
    await running.rows('delete from mission_agents where mission_id = 1');
    for (const agent of [1, 2, 3]) await running.rows(`insert into mission_agents (mission_id, agent_id) values (1, ${agent})`);
  });

  test('are null in a to-one and omitted from a to-many, in lists and single rows', async () => {
    const { json, text } = await get('/mission/1');
    expectNone(text);
    expect(json.lead).toBeNull();
    expect(json.about).toBeNull();
    expect(json.base).toBeNull();
    expect(json.agents.map(({ id }: Any) => id)).toEqual([1, 3]);
    expect(json.assets.map(({ id }: Any) => id)).toEqual([1, 3]);
    const list = await get('/mission');
    expectNone(list.text);
    expect(list.json.results[0]).toEqual(json);
    expect(list.json.results[1]).toMatchObject({ lead: { id: 1 }, about: { id: 3 }, base: { id: 3 }, agents: [], assets: [] });
  });

  test('are omitted two levels deep, and in cycles that are cut to a reference', async () => {
    const { json, text } = await get('/mission/1');
    expectNone(text);
    const carl = json.agents.find(({ id }: Any) => id === 3);
    expect(carl).toMatchObject({ team: null, boss: null });
    const team = (await get('/team/1')).json;
    expect(team.members.map(({ id }: Any) => id)).toEqual([1]);
    expect((await get('/agent/3')).json).toMatchObject({ boss: null, team: null });
    const anna = json.agents.find(({ id }: Any) => id === 1);
    expect(anna.team.members).toEqual([{ id: 1 }]);
  });

  test('are shown to callers who can see them', async () => {
    const { json, text } = await get('/mission/1', { as: chief });
    for (const name of hidden) expect(text).toContain(name);
    expect(json.agents.map(({ id }: Any) => id)).toEqual([1, 2, 3]);
    expect(json).toMatchObject({ lead: { id: 2 }, about: { id: 2 }, base: { id: 2 } });
    expect((await get('/mission', { as: chief })).json.results[0]).toEqual(json);
  });

  test('are shown if another API of the class does not hide them and the caller can use it', async () => {
    const { json } = await get('/mission/1', { as: archivist });
    expect(json.lead).toMatchObject({ id: 2, name: 'BERT' });
    expect(json.agents.map(({ id }: Any) => id)).toEqual([1, 2, 3]);
    expect(json.agents[2].team).toBeNull();
    expect(json.about).toBeNull();
  });

  test('are not shown if the API rejects the caller', async () => {
    const { json } = await get('/mission/1', { headers: { 'x-banned': '1' } });
    expect(json).toMatchObject({ lead: null, agents: [] });
  });

  test('are omitted from handler responses and from computed fields of a model', async () => {
    const report = await get('/mission/report');
    expectNone(report.text);
    expect(report.json.first.agents).toHaveLength(2);
    const { json, text } = await get('/dossier/1');
    expectNone(text);
    expect(json.contacts.first).toBeNull();
    expect(json.contacts.byName).toEqual({ lead: null });
    expect(json.contacts.all.map(({ id }: Any) => id)).toEqual([1, 3]);
    expect((await get('/dossier/1', { as: chief })).json.contacts.all).toHaveLength(3);
  });

  test('are omitted from exports and other formats', async () => {
    for (const path of ['/mission.csv', '/mission.ndjson', '/mission.xml', '/mission/1.xml', '/mission/1.csv']) {
      const response = await application.request('GET', path);
      expect(response.status, response.text).toBe(200);
      expect(response.text).toContain('first');
      expectNone(response.text);
      expect((await application.request('GET', path, { as: chief })).text).toContain('BERT');
    }
  });

  test('are omitted from the responses of writes', async () => {
    for (const [method, path, json, status] of [
      ['PATCH', '/mission/1', { title: 'renamed' }, 200],
      ['POST', '/mission/1/agents', { id: 1 }, 200],
      ['DELETE', '/mission/1/agents', { id: 3 }, 200],
      ['POST', '/mission', { title: 'new', agents: [{ id: 3 }], lead: { id: 3 } }, 201],
    ] as const) {
      const response = await running.request(method, path, { json });
      expect(response.status, response.text).toBe(status);
      expectNone(response.text);
    }
    expect(await linked()).toEqual([1, 2]);
  });

  test.each(['PUT', 'PATCH'])('stay linked if the caller sends the data it read back with %s', async (method) => {
    const { json } = await get('/mission/1');
    const agents = json.agents.map(({ id }: Any) => ({ id }));
    const response = await running.request(method, '/mission/1', { json: { title: 'first', lead: json.lead, agents } });
    expect(response.status, response.text).toBe(200);
    expect(response.json).toMatchObject({ lead: null, agents: [{ id: 1 }, { id: 3 }] });
    expect(await linkOf('lead_id')).toBe(2);
    expect(await linked()).toEqual([1, 2, 3]);
  });

  test('stay linked on a PUT without them, which unlinks only visible rows', async () => {
    const response = await running.request('PUT', '/mission/1', { json: { title: 'first' } });
    expect(response.status, response.text).toBe(200);
    expect(await linkOf('lead_id')).toBe(2);
    expect(await linked()).toEqual([2]);
  });

  test('are unlinked by null and lists if the caller can see them', async () => {
    const json = { lead: null, agents: [] };
    expect((await running.request('PATCH', '/mission/1', { json, as: chief })).status).toBe(200);
    expect(await linkOf('lead_id')).toBeNull();
    expect(await linked()).toEqual([]);
  });

  test('can be replaced by another row', async () => {
    const response = await running.request('PATCH', '/mission/1', { json: { lead: { id: 1 } } });
    expect(response.json.lead).toMatchObject({ id: 1 });
    expect(await linkOf('lead_id')).toBe(1);
    expect((await running.request('PATCH', '/mission/1', { json: { lead: null } })).json.lead).toBeNull();
    expect(await linkOf('lead_id')).toBeNull();
  });

  test('do not leak sort values into list links', async () => {
    const { json } = await get('/led?items_per_page=1');
    expect(json.pagination.next).toMatch(/page=2/);
    expect(json.pagination.next).not.toContain('after');
  });

  test('do not increase the number of statements with the number of rows', async () => {
    const count = async () => {
      application.app.statements.length = 0;
      await get('/mission?items_per_page=200');
      return application.app.statements.length;
    };
    await count();
    const before = await count();
    for (const [i, agent] of [1, 2, 3, 1, 2, 3].entries()) {
      const id = 100 + i;
      await running.rows(`insert into mission (id, title, lead_id) values (${id}, 'more', ${agent})`);
      await running.rows(`insert into mission_agents (mission_id, agent_id) values (${id}, ${agent})`);
    }
    expect(await count()).toBe(before);
  });
});
