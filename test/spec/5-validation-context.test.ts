import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  ApiController,
  type ApiRequest,
  createServer,
  type DeclarationErrors,
  type ValidationContext,
  type Violation,
} from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { partOf } from '../support/random.ts';
import { everything, useApplication } from './fixtures/use-application.ts';

const Team = defineEntity({
  name: 'Team',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
});

const article = defineEntity({
  name: 'Article',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    summary: p.string().default('').groups('read', 'write'),
    author: p.string().groups('read'),
    team: () => p.manyToOne(Team).nullable().groups('read'),
    tags: () => p.manyToMany(Tag).groups('read'),
  },
});
const Tag = defineEntity({ name: 'Tag', properties: { id: p.integer().primary().groups('read', 'write') } });

const seen: string[] = [];
const told = ({ action, groups, request }: ValidationContext) => `${action} ${request.method} [${groups}]`;

class Article extends article.class {
  static constraints = {
    title: [z.string().min(2), { groups: ['publish', 'print'], schema: z.string().min(5, 'is too short to be published') }],
    summary: { groups: ['publish'], schema: z.string().min(1, 'is missing') },
  };
  validate(context: ValidationContext): Violation[] {
    seen.push(`model ${told(context)}`);
    const isTaken = context.action === '_index' && this.title === 'taken';
    return isTaken ? [{ propertyPath: 'title', title: 'is taken' } as Violation] : [];
  }
}
article.setClass(Article);

const note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary().groups('read'), text: p.string().groups('read', 'write') },
});
class Note extends note.class {
  static constraints = [
    z.object({ text: z.string().min(1) }),
    { groups: ['long'], schema: z.object({ text: z.string().min(5) }) },
  ];
}
note.setClass(Note);

class ArticleController extends ApiController<Article> {
  override beforeValidation(action: string, request: ApiRequest, entity: Article) {
    seen.push(`before ${action} ${request.method}`);
    if (request.headers['x-stop']) return this.json({ stopped: true }, { status: 202 });
    if (request.headers['x-short']) entity.title = 'x';
    if (request.headers['x-team']) entity.team = this.em.getReference(Team, 1) as never;
    if (action !== '_index') return undefined;
    entity.author = String(request.headers['x-author'] ?? 'nobody');
    // throws if the body has no valid title
    entity.summary = entity.title.toUpperCase();
    return undefined;
  }
  override async validate(entity: Article, context: ValidationContext) {
    seen.push(`controller ${told(context)}`);
    return super.validate(entity, context);
  }
}

/** Forgets to pass the context on. */
class ForgetfulController extends ApiController<Article> {
  override validate(entity: Article) {
    return super.validate(entity);
  }
  async checkApi(id: number, request: ApiRequest) {
    const entity = await this.getEntity('check', id, request);
    return { own: await this.validate(entity), more: await super.validate(entity, { groups: ['publish'] }) };
  }
}

const { _index, _entity } = everything;
const actions = {
  _index,
  _entity: { ..._entity, validation_groups: ['publish'] },
  tag: { association: { property: 'tags' }, validation_groups: ['print'] },
} as const;
const options = {
  app_main: {
    apis: {
      hooked: {
        class: Article,
        base_path: '/hooked',
        controller: ArticleController,
        actions,
      },
      plain: { class: Article, base_path: '/plain', actions },
      forgetful: {
        class: Article,
        base_path: '/forgetful',
        controller: ForgetfulController,
        actions: { ...actions, check: { methods: { GET: true }, validation_groups: ['print'] } },
      },
      note: { class: Note, base_path: '/note', actions: { _index, _entity: { ..._entity, validation_groups: ['long'] } } },
      team: { class: Team, base_path: '/team', actions: everything },
    },
  },
  models: [Article, Note, Team, Tag],
  controllers: [ArticleController, ForgetfulController],
} as const;

describe.each(
  databases.flatMap((kind, turn) => partOf([true, false], 2, turn).map((compiledReads) => ({ kind, compiledReads }))),
)('validation on $kind, compiled: $compiledReads', ({ compiledReads, kind }) => {
  const running = useApplication(kind, { ...options, compiledReads } as never);
  const send = (method: string, path: string, json?: unknown, headers: Record<string, string> = {}) =>
    running.request(method, path, { json, headers });
  const titles = ({ json }: { json: any }) => json.violations?.map((violation: Violation) => violation.title);
  const insert = async (values: string) => {
    const [{ id }] = (await running.rows(`insert into article (title, summary, author) values (${values}) returning id`)) as [
      { id: number },
    ];
    return id;
  };

  test('applies constraints of the groups of the action, and always those without groups', async () => {
    for (const base of ['/plain', '/forgetful']) {
      const id = await insert(`'ab', '', 'x'`);
      const patched = await send('PATCH', `${base}/${id}.json`, { title: 'abc' });
      expect([patched.status, titles(patched)]).toEqual([422, ['is too short to be published', 'is missing']]);
      const tiny = await send('PATCH', `${base}/${id}.json`, { title: 'a', summary: 's' });
      expect([tiny.status, titles(tiny).length]).toEqual([422, 1]);
      expect((await send('PATCH', `${base}/${id}.json`, { title: 'abcdef', summary: 's' })).status).toBe(200);
      const linked = await insert(`'abc', '', 'x'`);
      await running.rows('insert into tag (id) values (1) on conflict do nothing');
      const added = await send('POST', `${base}/${linked}/tag.json`, { id: 1 });
      expect([added.status, titles(added)]).toEqual([422, ['is too short to be published']]);
    }
    const made = await send('POST', '/note.json', { text: 'ab' });
    expect(made.status).toBe(201);
    expect((await send('PATCH', `/note/${made.json.id}.json`, { text: 'abc' })).status).toBe(422);
    expect((await send('PUT', `/note/${made.json.id}.json`, { text: 'abcde' })).status).toBe(200);
    expect((await send('POST', '/note.json', { text: '' })).status).toBe(422);
  });

  test('passes action, request and groups to the controller and to the model, once', async () => {
    seen.length = 0;
    const made = await send('POST', '/hooked.json', { title: 'first' }, { 'x-author': 'ada' });
    expect([made.status, made.json]).toEqual([
      201,
      { id: made.json.id, title: 'first', summary: 'FIRST', author: 'ada', team: null, tags: [] },
    ]);
    expect(seen).toEqual(['before _index POST', 'controller _index POST []', 'model _index POST []']);
    seen.length = 0;
    expect((await send('PATCH', `/plain/${made.json.id}.json`, { title: 'second' })).status).toBe(200);
    expect(seen).toEqual(['model _entity PATCH [publish]']);
    expect((await send('PATCH', `/plain/${made.json.id}.json`, { title: 'taken' })).status).toBe(200);
    expect(titles(await send('POST', '/hooked.json', { title: 'taken' }))).toEqual(['is taken']);
    seen.length = 0;
    expect((await send('DELETE', `/hooked/${made.json.id}.json`)).status).toBe(204);
    expect(seen).toEqual([]);
  });

  test('validates and writes values that beforeValidation sets', async () => {
    await running.rows(`insert into team (id, name) values (1, 'north') on conflict do nothing`);
    const made = await send('POST', '/hooked.json', { title: 'first' }, { 'x-author': 'eve', 'x-team': '1' });
    expect([made.status, made.json]).toMatchObject([201, { author: 'eve', team: { id: 1, name: 'north' } }]);
    expect((await send('GET', `/plain/${made.json.id}.json`)).json).toEqual(made.json);
    const short = await send('PATCH', `/hooked/${made.json.id}.json`, { summary: 'new' }, { 'x-short': '1' });
    expect(short.status).toBe(422);
    expect((await send('GET', `/plain/${made.json.id}.json`)).json).toEqual(made.json);
    const count = (await send('GET', '/plain.json')).json.count;
    const stopped = await send('POST', '/hooked.json', { title: 'other' }, { 'x-stop': '1' });
    expect([stopped.status, stopped.json]).toEqual([202, { stopped: true }]);
    expect((await send('GET', '/plain.json')).json.count).toBe(count);
  });

  test('reports violations of the body if beforeValidation fails', async () => {
    const wrong = await send('POST', '/hooked.json', { title: 3 });
    expect([wrong.status, wrong.json.violations.map(({ propertyPath }: Violation) => propertyPath)]).toEqual([422, ['title']]);
  });

  test('applies the groups of its action in a handler, or those that the handler passes', async () => {
    const id = await insert(`'abc', '', 'x'`);
    const { json } = await send('GET', `/forgetful/${id}/check.json`);
    expect(json.own.map(({ title }: Violation) => title)).toEqual(['is too short to be published']);
    expect(json.more.map(({ title }: Violation) => title)).toEqual(['is too short to be published', 'is missing']);
  });
});

test('unknown validation groups and malformed constraints are start errors', async () => {
  const mistakes = async (model: unknown, actions: object, controller: unknown = null): Promise<string[]> => {
    const app_main = { apis: { one: { class: model, base_path: '/one', controller, actions } } };
    const error = await createServer({
      app_main,
      models: [model],
      controllers: controller ? [controller] : [],
      databaseUrl: 'sqlite::memory:',
    } as never).then(
      async (app) => app.close().then(() => null),
      (thrown: DeclarationErrors) => thrown,
    );
    return error?.errors.map(({ message }) => message) ?? [];
  };
  expect(await mistakes(Note, { _index: { ..._index, validation_groups: ['lon'] } })).toEqual([
    'no constraint of Note has the group "lon"; did you mean "long"? groups: long',
  ]);
  class HookedController extends ApiController {
    override beforeValidation() {}
  }
  class ValidatingController extends ApiController {
    override async validate() {
      return [];
    }
  }
  const wrong = { _index: { ..._index, validation_groups: ['lon'] } };
  expect(await mistakes(Note, wrong, HookedController)).toHaveLength(1);
  expect(await mistakes(Note, wrong, ValidatingController)).toEqual([]);
  const odd = defineEntity({ name: 'Odd', properties: { id: p.integer().primary() } });
  class Odd extends odd.class {
    static constraints = { id: { groups: [], schema: z.number() } };
  }
  odd.setClass(Odd);
  expect(await mistakes(Odd, { _index: null })).toEqual([
    "the constraints of Odd.id must be schemas, or { groups: ['publish'], schema } for rules that apply to some actions",
  ]);
});
