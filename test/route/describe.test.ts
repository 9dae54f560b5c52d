import { expect, test } from 'vitest';
import { describeRecords } from '../../src/route/describe.ts';
import { recordsOf } from '../../src/route/record.ts';
import { action, api } from './fixtures.ts';

test('routes are described in matching order, with the roles of every enabled method', () => {
  const entity = action('_entity', { methods: ['GET', 'PATCH'], roles: { PATCH: 'METHOD' } });
  const custom = action('new', { single: false, methods: ['POST'] });
  const made = recordsOf({ apis: [api('person', [entity, custom], { baseRole: 'BASE' })] });
  expect(JSON.parse(JSON.stringify(describeRecords(made)))).toEqual([
    {
      name: 'app_api_single_person_new',
      methods: ['POST'],
      path: '/api/person/new.{_format}',
      requirements: {},
      controller: 'ApiController',
      handler: 'newApi',
      roles: { POST: ['BASE'] },
    },
    {
      name: 'app_api_single_person__entity',
      methods: ['GET', 'PATCH'],
      path: '/api/person/{id}.{_format}',
      requirements: { id: '\\d+' },
      controller: 'ApiController',
      handler: 'entityApi',
      roles: { GET: ['BASE'], PATCH: ['BASE', 'METHOD'] },
    },
  ]);
});
