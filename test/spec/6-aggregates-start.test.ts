import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { ApiController } from '../../src/index.ts';

type Any = any;

class OwnList extends ApiController {
  override async indexApi(): Promise<Any> {
    return [];
  }
}
class Changing extends ApiController {
  override afterFetch(): void {}
}

async function errorsOf(api: Record<string, unknown>, actions: Record<string, unknown> = { _index: null }): Promise<string> {
  const Center = defineEntity({
    name: 'Center',
    properties: { id: p.integer().primary().groups('read'), secret: p.string() },
  });
  const Sale: Any = defineEntity({
    name: 'Sale',
    properties: {
      id: p.integer().primary().groups('read'),
      kind: p.string().groups('read'),
      count: p.integer().groups('read'),
      isPaid: p.boolean().groups('read'),
      options: p.json().groups('read'),
      amount: p.integer().groups('read'),
      salary: p.integer(),
      soldAt: p.datetime().groups('read'),
      center: () => (p.manyToOne(Center) as Any).groups('read'),
      centers: () => (p.manyToMany(Center) as Any).groups('read'),
    },
  });
  try {
    await loadApplication({
      app_main: {
        apis: { sale: { class: Sale, base_path: '/sale', actions, ...api } },
        database: { url: 'sqlite::memory:' },
      },
      models: [Sale, Center],
      controllers: [OwnList, Changing],
    } as Any);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('errors in the declaration of aggregates', () => {
  test.each([
    [{ by: ['salary'] }, '"salary" is not in the group "read" of Sale'],
    [{ by: ['center.secret'] }, '"center.secret" is not in the group "read" of Sale'],
    [{ by: ['center'] }, '"center" is an association; name one of its fields'],
    [{ by: ['centers.id'] }, 'cannot aggregate "centers.id": it can have several values'],
    [{ by: ['options'] }, 'cannot group by "options"'],
    [{ by: ['soldAt:week'] }, 'unknown period "week" of "soldAt"; known: year, month, day'],
    [{ by: ['salary:week'] }, '"salary:week" is not in the group "read" of Sale'],
    [{ by: ['kind:month'] }, 'cannot group by the month of "kind", which is a text'],
    [{ of: { kind: ['sum'] } }, 'the function "sum" does not work on "kind", which is a text; allowed: min, max'],
    [{ of: { isPaid: ['min'] } }, 'the function "min" does not work on "isPaid"'],
    [{ of: { amount: ['median'] } }, 'must be one of: sum, avg, min, max'],
    [{ of: { salary: ['sum'] } }, '"salary" is not in the group "read" of Sale'],
    [{ of: { count: ['sum'] } }, '"count" is the number of rows in each result'],
    [{ by: ['amount'], of: { amount: ['sum'] } }, '"amount" is in "by" as well'],
    [{ having: [] }, 'unknown key "having"'],
  ])('%j is rejected', async (aggregate, message) => {
    expect(await errorsOf({ aggregate })).toContain(message);
  });

  test('a list that application code can change has no aggregates', async () => {
    const aggregate = { by: ['kind'] };
    expect(await errorsOf({ aggregate, controller: OwnList })).toContain('a method of the controller handles _index');
    expect(await errorsOf({ aggregate, controller: Changing })).toContain('Changing has afterFetch, which can hide values');
  });

  test('only _index with GET has aggregates', async () => {
    const own = { methods: { GET: true }, 'single-collection': 'collection', aggregate: {} };
    expect(await errorsOf({}, { latest: own })).toContain('"aggregate" is allowed for _index only');
    expect(await errorsOf({}, { _entity: { aggregate: {} } })).toContain('"aggregate" is allowed for actions that return a list');
    expect(await errorsOf({ aggregate: {} }, { _index: { methods: { POST: true } } })).toContain(
      'needs the method GET of _index',
    );
  });

  test('an action with the path of the aggregates is rejected', async () => {
    const taken = { methods: { GET: true }, 'single-collection': 'collection', association: null, path: 'aggregate' };
    const errors = await errorsOf({ aggregate: {} }, { _index: null, latest: { ...taken, controller_action: 'indexApi' } });
    expect(errors).toContain('/sale/aggregate.{_format}');
    expect(errors).toContain('is already handled by');
  });
});
