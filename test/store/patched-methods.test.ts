import { defineEntity, p } from '@mikro-orm/core';
import { QueryBuilder, SqlEntityManager } from '@mikro-orm/sql';
import { afterAll, beforeAll, beforeEach, describe, expect } from 'vitest';
import type { ApiRequest } from '../../src/access/user.ts';
import { loadApplication } from '../../src/application.ts';
import type { Mapper } from '../../src/database/mapper.ts';
import { prepareDatabase } from '../../src/database/prepare-database.ts';
import { WholeTransaction } from '../../src/database/whole-transaction.ts';
import { metaOf } from '../../src/model/hierarchy.ts';
import { RowChanged } from '../../src/query/rows/row-version.ts';
import { EntityStore } from '../../src/store/entity-store.ts';
import { inHandlerTransaction, writingMethods } from '../../src/store/handler-transaction.ts';
import { stateOf } from '../../src/store/request-state.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';

// Declarest replaces methods of the entity manager of a request: those that write, so that a handler is one transaction on the row that
// was checked, and those that begin and end transactions, so that they are parts of a larger one. These tests fail if MikroORM gets
// another way to write, loses one of the methods, or no longer calls them.

type Any = any;

const Item: Any = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().unique().groups('read'),
    num: p.integer().groups('read'),
  },
});

/** Wrapped by {@link inHandlerTransaction}. */
const gated = [...writingMethods, 'execute', 'createQueryBuilder'] as const;

/** Replaced by {@link WholeTransaction}. */
const joined = ['begin', 'commit', 'flush', 'rollback'] as const;

/** What sends no statement, only reads, or leads to statements that are the application's own affair. */
// biome-ignore format: a list of names
const others = [
  'addFilter', 'applyDiscriminatorCondition', 'applyFilters', 'assign', 'autoJoinRefsForFilters', 'buildFields', 'cacheKey', 'canPopulate',
  'checkLockRequirements', 'clear', 'clearCache', 'clearSessionContext', 'clone', 'count', 'countBy', 'create', 'createPopulateWhere', 'find',
  'findAll', 'findAndCount', 'findByCursor', 'findOne', 'findOneOrFail', 'forceSelectInForLimitedPopulate', 'fork', 'getAbortOptions',
  'getComparator', 'getContext', 'getDataLoader', 'getEntityFactory', 'getEntityLoader', 'getEventManager', 'getFilterParams', 'getHydrator',
  'getJoinedFilters', 'getLoggerContext', 'getMetadata', 'getPlatform', 'getPopulateWhere', 'getReference', 'getRepository',
  'getSessionContext', 'getTransactionContext', 'getTransactionSessionContext', 'getUnitOfWork', 'id', 'isInTransaction', 'lock',
  'lockAndPopulate', 'map', 'merge', 'mergeSessionContext', 'persist', 'populate', 'prepareOptions', 'preparePopulate', 'processUnionWhere',
  'processWhere', 'qb', 'refresh', 'refreshOrFail', 'remove', 'repo', 'resetTransactionContext', 'schema', 'setFilterParams', 'setFlushMode',
  'setLoggerContext', 'setSessionContext', 'setTransactionContext', 'shouldRefresh', 'storeCache', 'stream', 'tryCache', 'tryFlush',
  'validateIndexUsage', 'validateSessionContextStaging', 'validateWhereKeysForIndex', 'withSessionContext',
  // connections of the application's own, which no entity manager knows of
  'callRoutine', 'getConnection', 'getDriver', 'getKysely',
];

function methodsOf(type: { readonly prototype: object }): string[] {
  const names = new Set<string>();
  for (let own: Any = type.prototype; own !== Object.prototype; own = Object.getPrototypeOf(own))
    for (const name of Object.getOwnPropertyNames(own)) if (name !== 'constructor') names.add(name);
  return [...names].sort();
}

describe('MikroORM', () => {
  test('has every method that Declarest replaces', () => {
    const has = (type: { readonly prototype: object }, name: string) => typeof (type.prototype as Any)[name] === 'function';
    expect([...gated, ...joined].filter((name) => !has(SqlEntityManager, name))).toEqual([]);
    expect(has(QueryBuilder, 'execute')).toBe(true);
  });

  test('has only methods that are classified as writing or not', () => {
    const decided = new Set<string>([...gated, ...joined, ...others]);
    expect(methodsOf(SqlEntityManager).filter((name) => !decided.has(name))).toEqual([]);
    const known = new Set(methodsOf(SqlEntityManager));
    expect([...decided].filter((name) => !known.has(name))).toEqual([]);
  });
});

/** Each way to write `num: 5` into the row 1, by the method that it ends in. */
const ways: Record<(typeof gated)[number], Record<string, (em: Any, entity: Any) => unknown>> = {
  flush: {
    'em.flush()': (em, entity) => {
      entity.num = 5;
      return em.flush();
    },
    'em.persist().flush()': (em, entity) => {
      entity.num = 5;
      return em.persist(entity).flush();
    },
    'em.remove().flush()': (em, entity) => em.remove(entity).flush(),
  },
  begin: {
    'em.begin() and em.commit()': async (em, entity) => {
      await em.begin();
      entity.num = 5;
      await em.commit();
    },
  },
  transactional: {
    'em.transactional()': (em, entity) =>
      em.transactional(async () => {
        entity.num = 5;
      }),
  },
  insert: {
    'em.insert()': (em) => em.insert(Item, { name: 'new', num: 5 }),
    'repository.insert()': (em) => em.getRepository(Item).insert({ name: 'new', num: 5 }),
  },
  insertMany: { 'em.insertMany()': (em) => em.insertMany(Item, [{ name: 'new', num: 5 }]) },
  nativeUpdate: {
    'em.nativeUpdate()': (em) => em.nativeUpdate(Item, { id: 1 }, { num: 5 }),
    'repository.nativeUpdate()': (em) => em.repo(Item).nativeUpdate({ id: 1 }, { num: 5 }),
  },
  nativeDelete: { 'em.nativeDelete()': (em) => em.nativeDelete(Item, { id: 1 }) },
  upsert: { 'em.upsert()': (em) => em.upsert(Item, { id: 1, name: 'one', num: 5 }) },
  upsertMany: { 'em.upsertMany()': (em) => em.upsertMany(Item, [{ id: 1, name: 'one', num: 5 }]) },
  execute: { 'em.execute()': (em) => em.execute('update item set num = 5 where id = 1') },
  createQueryBuilder: {
    'em.createQueryBuilder()': (em) => em.createQueryBuilder(Item).update({ num: 5 }).where({ id: 1 }).execute(),
    'em.qb()': (em) => em.qb(Item).update({ num: 5 }).where({ id: 1 }).execute(),
    'repository.createQueryBuilder()': (em) => em.getRepository(Item).createQueryBuilder().delete({ id: 1 }).execute(),
  },
};
const writes = Object.entries(ways).flatMap(([method, by]) =>
  Object.entries(by).map(([title, write]) => ({ method, title, write })),
);

describe.each(databases)('patched methods on %s', (database) => {
  let fresh: FreshDatabase;
  let mapper: Mapper;

  beforeAll(async () => {
    fresh = await freshDatabase(database);
    const application = await loadApplication({
      app_main: { apis: { item: { class: Item, base_path: '/item', actions: { _entity: null } } } },
      models: [Item],
      databaseUrl: fresh.url,
    } as Any);
    mapper = application.mapper;
    await prepareDatabase(mapper, application.declaration.database, { seed: null });
    if (database === 'postgresql') await execute('alter sequence item_id_seq restart with 100');
  });

  afterAll(async () => {
    await mapper?.close();
    await fresh?.drop();
  });

  beforeEach(async () => {
    await execute('delete from item');
    await execute("insert into item (id, name, num) values (1, 'one', 1), (2, 'two', 2)");
  });

  const execute = (sql: string): Promise<Any> => mapper.em.fork().execute(sql);
  const stored = () => execute('select id, name, num from item order by id');
  const untouched = [
    { id: 1, name: 'one', num: 1 },
    { id: 2, name: 'two', num: 2 },
  ];

  /** Runs a handler on the row 1, as an action does. */
  async function handled(handle: (em: Any, entity: Any) => unknown, isFailure = false): Promise<unknown> {
    const request = { method: 'POST', headers: {} } as unknown as ApiRequest;
    const state = stateOf(request, mapper);
    const meta = metaOf(mapper, Item);
    const found = await new EntityStore(mapper, meta, []).find(request, 1, null, true);
    const admission = { action: 'work', key: 1, restriction: null, found };
    return inHandlerTransaction({ mapper, meta, state, admission, isFailure: () => isFailure }, () =>
      handle(state.em, found?.entity),
    );
  }

  describe.each(writes)('$title in a handler', ({ method, write }) => {
    test(`goes through the replaced ${method} and is written when the handler ends`, async () => {
      let called = 0;
      await handled(async (em, entity) => {
        // the outermost layer is the one that the application calls, and that other methods of MikroORM call
        const replaced = em[method];
        expect(Object.hasOwn(em, method)).toBe(true);
        em[method] = (...args: unknown[]) => {
          called++;
          return replaced.apply(em, args);
        };
        await write(em, entity);
        expect(em.isInTransaction()).toBe(true);
        expect(await stored()).toEqual(untouched);
      });
      expect(called).toBeGreaterThan(0);
      expect(await stored()).not.toEqual(untouched);
    });

    test('is rolled back if the handler fails', async () => {
      const failing = handled(async (em, entity) => {
        await write(em, entity);
        throw new Error('too late');
      });
      await expect(failing).rejects.toThrow('too late');
      await handled((em, entity) => write(em, entity), true);
      expect(await stored()).toEqual(untouched);
    });

    test('is rejected if the row has changed since the access check', async () => {
      const overtaken = handled(async (em, entity) => {
        await execute('update item set num = 9 where id = 1');
        await write(em, entity);
      });
      await expect(overtaken).rejects.toBeInstanceOf(RowChanged);
      expect(await stored()).toEqual([{ id: 1, name: 'one', num: 9 }, untouched[1]]);
    });
  });

  test('an entity manager gets its original methods back after a handler', async () => {
    const left = async (isFailure: boolean) => {
      let used: Any;
      await handled((em, entity) => {
        used = em;
        entity.num = 5;
        return em.flush();
      }, isFailure);
      return [...gated, ...joined].filter((name) => Object.hasOwn(used, name));
    };
    expect([await left(false), await left(true)]).toEqual([[], []]);
  });

  test('reads in a handler start no transaction', async () => {
    await handled(async (em) => {
      await em.find(Item, {});
      await em.execute('  SELECT 1');
      await em.createQueryBuilder(Item).getResultList();
      await em.createQueryBuilder(Item).getCount();
      expect(em.isInTransaction()).toBe(false);
    });
  });

  describe('a transaction around the whole request', () => {
    const parts: Record<string, (em: Any, entity: Any) => unknown> = {
      'em.begin() and em.commit()': ways.begin['em.begin() and em.commit()'] as never,
      'em.transactional()': ways.transactional['em.transactional()'] as never,
      'em.flush()': ways.flush['em.flush()'] as never,
    };

    test.each(Object.entries(parts))('includes %s', async (_, write) => {
      for (const how of ['rollback', 'commit'] as const) {
        const em = mapper.em.fork() as Any;
        const whole = await WholeTransaction.begin(em);
        expect(joined.filter((name) => !Object.hasOwn(em, name))).toEqual([]);
        await write(em, await em.findOne(Item, 1));
        expect(em.isInTransaction()).toBe(true);
        expect(await stored()).toEqual(untouched);
        await whole[how]();
        expect(joined.filter((name) => Object.hasOwn(em, name))).toEqual([]);
        expect(await stored()).toEqual(how === 'commit' ? [{ ...untouched[0], num: 5 }, untouched[1]] : untouched);
      }
    });

    test('rolls back only the inner part on em.rollback()', async () => {
      const em = mapper.em.fork() as Any;
      const whole = await WholeTransaction.begin(em);
      await em.execute('update item set num = 7 where id = 2');
      await em.begin();
      await em.execute('update item set num = 7 where id = 1');
      await em.rollback();
      await whole.commit();
      expect(await stored()).toEqual([untouched[0], { ...untouched[1], num: 7 }]);
    });

    test('rolls back only the flush if a flush fails', async () => {
      const em = mapper.em.fork() as Any;
      const whole = await WholeTransaction.begin(em);
      await em.execute('update item set num = 7 where id = 2');
      em.create(Item, { name: 'two', num: 3 });
      await expect(em.flush()).rejects.toThrow();
      await whole.commit();
      expect(await stored()).toEqual([untouched[0], { ...untouched[1], num: 7 }]);
    });

    test('cannot be ended by em.commit() or em.rollback()', async () => {
      const em = mapper.em.fork() as Any;
      const whole = await WholeTransaction.begin(em);
      await expect(em.commit()).rejects.toThrow('no transaction was begun');
      await expect(em.rollback()).rejects.toThrow('no transaction was begun');
      await whole.rollback();
    });
  });
});
