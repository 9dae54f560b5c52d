import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { Voter } from '../../src/access/voter.ts';
import { ApiController } from '../../src/actions/controller/api-controller.ts';
import { loadApplication } from '../../src/application.ts';

const Visitor = defineEntity({ name: 'Visitor', properties: { id: p.integer().primary() } });
const Stage = defineEntity({ name: 'Stage', properties: { id: p.integer().primary() } });
const Concert = defineEntity({
  name: 'Concert',
  properties: { id: p.integer().primary(), fans: () => p.manyToMany(Visitor) },
});
class ConcertController extends ApiController {
  openApi() {}
}

async function errorsOf(actions: object, extra: object = {}): Promise<string> {
  const apis = { concert: { class: Concert, base_path: '/concerts', controller: ConcertController, actions } };
  const options = { app_main: { apis }, models: [Visitor, Stage, Concert], controllers: [ConcertController], ...extra };
  try {
    await loadApplication(options as never);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('configuration checks at start', () => {
  test('reject an association with a type that it cannot hold', async () => {
    expect(await errorsOf({ fan: { association: { property: 'fans', types: [Stage] } } })).toBe(
      'app_main.apis.concert.actions.fan.association.types: "fans" of Concert holds Visitor, not Stage; name a type that it holds, or write addFan(item) and removeFan(item) on Concert',
    );
  });

  test.each(['em', 'constructor', 'toString', 'checkAccess', 'customizeQuery', 'json', 'getEntity', 'entityApi', 'indexApi'])(
    'reject the controller_action %s, which cannot be a handler',
    async (name) => {
      const errors = await errorsOf({ open: { methods: { POST: true }, controller_action: name } });
      expect(errors).toMatch(/^app_main\.apis\.concert\.actions\.open\.controller_action: the action "open" is handled by /);
    },
  );

  test.each([
    ['[', 'requirements.id: the requirement of "id" is not a regular expression: unterminated character class'],
    ['(a+)+', 'requirements.id: the requirement "(a+)+" of {id} can backtrack catastrophically'],
  ])('report the invalid requirement %s once', async (id, told) => {
    const errors = (await errorsOf({ _entity: { requirements: { id } } })).split('\n');
    expect(errors).toEqual([expect.stringContaining(`app_main.apis.concert.actions._entity.${told}`)]);
  });

  test('accept a controller method as the handler', async () => {
    expect(await errorsOf({ open: { methods: { POST: true } }, _index: { controller_action: 'openApi' } })).toBe('');
  });

  test('reject a voter without a vote method', async () => {
    class Mute extends (Voter as never as new () => object) {
      static roles = ['SEE'];
    }
    expect(await errorsOf({ _index: { roles: { GET: 'SEE' } } }, { voters: [Mute] })).toContain(
      'Mute must have a method vote(role, subject, user)',
    );
  });

  test('report errors of generated routes even if their routing entry is wrong too', async () => {
    const routes = { app_cruds: { resource: 'app_main_crud_route_loadr:load', type: 'service' } };
    const errors = await errorsOf({ _entity: { requirements: { id: '(a+)+' } } }, { routes });
    expect(errors).toContain('the requirement "(a+)+" of {id} can backtrack catastrophically');
    expect(errors).toContain('app_main_crud_route_loader:load');
  });
});
