// @module-tag divided
import { Collection, defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, Voter } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { security, useApplication } from './fixtures/use-application.ts';

const SizeSchema = defineEntity({
  name: 'Size',
  embeddable: true,
  properties: {
    width: p.integer().groups('read', 'write'),
    area: p.integer().persist(false).getter().groups('read'),
  },
});
class Size extends SizeSchema.class {
  #height = 2;
  override get area(): number {
    return this.width * this.#height;
  }
}
SizeSchema.setClass(Size as never);

const CoinSchema = defineEntity({
  name: 'Coin',
  properties: {
    id: p.integer().primary().groups('read'),
    worth: p.integer().groups('read', 'write'),
    shown: p.string().persist(false).getter().groups('read'),
  },
});
class Coin extends CoinSchema.class {
  #sign = '€';
  override get shown(): string {
    return `${this.worth} ${this.#sign}`;
  }
}
CoinSchema.setClass(Coin as never);

const VaultSchema = defineEntity({
  name: 'Vault',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    limit: p.integer().default(2),
    code: p.string().persist(false).getter().groups('read'),
    size: () => p.embedded(Size).nullable().groups('read', 'write'),
    sizes: () => p.embedded(Size).array().default([]).groups('read', 'write'),
    best: () => p.manyToOne(Coin).nullable().groups('read', 'write'),
    coins: () => p.manyToMany(Coin).groups('read', 'write'),
  },
});
class Vault extends VaultSchema.class {
  #added = 0;
  #code(prefix: string): string {
    return `${prefix}-${this.name}`;
  }
  get #isOpen(): boolean {
    return this.name !== 'closed';
  }
  override get code(): string {
    return this.#code('v');
  }
  addCoin(coin: Coin): void {
    this.#added += coin.worth;
    this.coins.add(coin);
  }
  removeCoin(coin: Coin): void {
    this.#added -= coin.worth;
    this.coins.remove(coin);
  }
  mayBeSeen(): boolean {
    return this.#isOpen;
  }
  validate() {
    return this.#added > 100 ? [{ propertyPath: 'coins', title: 'is too much at once' }] : [];
  }
}
VaultSchema.setClass(Vault as never);

/** A class of its own that keeps a column in a private member, with a constructor. */
class Letter {
  id!: number;
  owner!: Vault | null;
  vaults = new Collection<Vault>(this);
  made: string;
  #text = '';
  constructor() {
    this.made = 'by the constructor';
  }
  get text(): string {
    return this.#text;
  }
  set text(text: string) {
    this.#text = text;
  }
  get length(): number {
    return this.#text.length;
  }
}
const LetterSchema = defineEntity({
  class: Letter as never,
  name: 'Letter',
  properties: {
    id: p.integer().primary().groups('read'),
    text: p.string().accessor().groups('read', 'write'),
    made: p.string().groups('read'),
    length: p.integer().persist(false).getter().groups('read'),
    owner: () => p.manyToOne(Vault).eager().nullable().groups('read', 'write'),
    vaults: () => p.manyToMany(Vault).groups('read', 'write'),
  } as never,
});

/** One table for two classes. The private member is that of both. */
const BoxSchema = defineEntity({
  name: 'Box',
  discriminatorColumn: 'type',
  abstract: true,
  properties: {
    id: p.integer().primary().groups('read'),
    type: p.string().groups('read'),
    inner: () => p.manyToOne(Box).nullable().groups('read', 'write'),
    tag: p.string().persist(false).getter().groups('read'),
  },
});
class Box extends BoxSchema.class {
  #tag = 'box';
  override get tag(): string {
    return `${this.#tag} ${this.id}`;
  }
}
BoxSchema.setClass(Box as never);
const Crate = defineEntity({ name: 'Crate', extends: Box, discriminatorValue: 'crate', properties: {} });
const Chest = defineEntity({ name: 'Chest', extends: Box, discriminatorValue: 'chest', properties: {} });

class VaultVoter extends Voter {
  static override roles = ['VAULT'];
  #granted = 'grant' as const;
  vote(_role: string, subject: unknown) {
    return subject instanceof Vault && !subject.mayBeSeen() ? ('deny' as const) : this.#granted;
  }
}
class LetterVoter extends Voter {
  static override roles = ['LETTER'];
  vote(_role: string, subject: unknown) {
    return subject instanceof Letter && subject.owner && !subject.owner.mayBeSeen() ? ('deny' as const) : ('grant' as const);
  }
}
class HookedController extends ApiController<Vault> {
  readonly #seen = new WeakSet<object>();
  override afterValidation(_action: string, _request: ApiRequest, vault: Vault) {
    this.#seen.add(vault);
    return vault.code === 'v-ended' ? this.json('ended', { status: 202 }) : undefined;
  }
}

const everything = {
  _index: { methods: { GET: true, POST: true } },
  _entity: { methods: { GET: true, PATCH: true, PUT: true, DELETE: true } },
} as const;
const models = [Size, Coin, Vault, LetterSchema, Box, Crate, Chest];
const apis = {
  vault: {
    class: Vault,
    base_path: '/vaults',
    base_role: 'VAULT',
    actions: { ...everything, coin: { association: { property: 'coins' } } },
  },
  hooked: {
    class: Vault,
    base_path: '/hooked',
    controller: HookedController,
    actions: { ...everything, coin: { association: { property: 'coins' } } },
  },
  letter: { class: LetterSchema, base_path: '/letters', base_role: 'LETTER', actions: everything },
  coin: { class: Coin, base_path: '/coins', actions: everything },
  box: { class: Box, base_path: '/boxes', actions: everything },
};

describe.each(databases)('private members of models on %s', (kind) => {
  describe.each([true, false])('with compiled reads: %s', (compiledReads) => {
    let database: FreshDatabase;
    let app: TestApplication;
    beforeAll(async () => {
      database = await freshDatabase(kind);
      app = await startApplication({
        models,
        voters: [VaultVoter, LetterVoter],
        controllers: [HookedController],
        databaseUrl: database.url,
        compiledReads,
        app_main: { security, apis },
        seed: async (em: { create(model: unknown, data: object): unknown; flush(): Promise<void> }) => {
          const coins = [5, 500].map((worth) => em.create(Coin, { worth }));
          await em.flush();
          const open = em.create(Vault, { name: 'open', best: coins[0], size: { width: 3 }, sizes: [{ width: 4 }] });
          await em.flush();
          const closed = em.create(Vault, { name: 'closed' });
          await em.flush();
          for (const owner of [open, closed]) {
            em.create(LetterSchema, { text: 'hello', made: 'by the seed', owner, vaults: [open] });
            await em.flush();
          }
          const inner = em.create(Crate, {});
          await em.flush();
          em.create(Chest, { inner });
        },
      } as never);
    });
    afterAll(async () => {
      await app?.close();
      await database?.drop();
    });
    const get = async (path: string) => app.request('GET', path);
    const send = (method: string, path: string, json: unknown) => app.request(method, path, { json });

    test('work in getters, also of embedded objects and associations', async () => {
      const { status, json } = await get('/vaults/1.json');
      expect(status).toBe(200);
      expect(json).toMatchObject({ code: 'v-open', size: { width: 3, area: 6 }, sizes: [{ area: 8 }], best: { shown: '5 €' } });
      expect((await get('/hooked.json')).json.results[1]).toMatchObject({ code: 'v-closed' });
      expect((await get('/coins.json')).json.results[1]).toMatchObject({ shown: '500 €' });
    });

    test('work in voters, for the subject and its associations', async () => {
      expect((await get('/vaults/2.json')).status).toBe(401);
      expect((await get('/letters/1.json')).json).toMatchObject({
        text: 'hello',
        length: 5,
        made: 'by the seed',
        vaults: [{ code: 'v-open' }],
      });
      expect((await get('/letters/2.json')).status).toBe(401);
      expect((await app.explain('GET', '/vaults/2.json')).status).toBe(401);
    });

    test.each(['/vaults', '/hooked'])('work in methods and rules at %s', async (base) => {
      expect((await send('POST', `${base}/1/coin.json`, { id: 1 })).json).toMatchObject({ shown: '5 €' });
      const refused = await send('POST', `${base}/1/coin.json`, { id: 2 });
      expect([refused.status, refused.json.violations?.[0]?.title]).toEqual([422, 'is too much at once']);
      expect((await get(`${base}/1.json`)).json.coins).toEqual([{ id: 1, worth: 5, shown: '5 €' }]);
      expect((await send('DELETE', `${base}/1/coin.json`, { id: 1 })).status).toBe(200);
      expect((await get(`${base}/1.json`)).json.coins).toEqual([]);
    });

    test.each(['/vaults', '/hooked'])('work when rows are created, changed, replaced and deleted at %s', async (base) => {
      const created = await send('POST', `${base}.json`, { name: 'new', size: { width: 1 }, best: { id: 2 } });
      expect([created.status, created.json.code, created.json.size]).toEqual([201, 'v-new', { width: 1, area: 2 }]);
      const path = `${base}/${created.json.id}.json`;
      const patched = await send('PATCH', path, { name: 'other', size: { width: 5 } });
      expect(patched.json).toMatchObject({ code: 'v-other', size: { area: 10 }, best: { shown: '500 €' } });
      expect((await send('PATCH', path, { best: { id: 1 } })).json.best.shown).toBe('5 €');
      expect((await send('PUT', path, { name: 'put', sizes: [{ width: 9 }] })).json).toMatchObject({
        code: 'v-put',
        sizes: [{ area: 18 }],
      });
      if (base === '/hooked') expect((await send('PATCH', path, { name: 'ended' })).status).toBe(202);
      expect((await app.request('DELETE', path)).status).toBe(204);
    });

    test('can store a column, and the constructor does not change stored values', async () => {
      const created = await send('POST', '/letters.json', { text: 'abc', owner: { id: 1 } });
      expect(created.json).toMatchObject({ text: 'abc', length: 3, made: 'by the constructor', owner: { code: 'v-open' } });
      const path = `/letters/${created.json.id}.json`;
      expect((await send('PATCH', path, { text: 'abcd' })).json).toMatchObject({ text: 'abcd', length: 4 });
      expect((await send('PATCH', '/letters/1.json', { text: 'hello!' })).json).toMatchObject({ length: 6, made: 'by the seed' });
      await send('PATCH', '/letters/1.json', { text: 'hello' });
    });

    test('work with single-table inheritance', async () => {
      expect((await get('/boxes/2.json')).json).toEqual({ id: 2, type: 'chest', tag: 'box 2', inner: { id: 1, type: 'crate' } });
      const { status, json } = await send('PATCH', '/boxes/1.json', { inner: { type: 'chest', id: 2 } });
      expect([status, json.tag]).toEqual([200, 'box 1']);
      await send('PATCH', '/boxes/1.json', { inner: null });
    });
  });
});

describe('unsupported private members are start errors:', () => {
  const key = { id: p.integer().primary().groups('read') };
  const start = (given: readonly unknown[], model: unknown) =>
    startApplication({
      models: given,
      databaseUrl: 'sqlite::memory:',
      app_main: { apis: { x: { class: model, base_path: '/x', actions: { _entity: null } } } },
    } as never);

  test('of a class whose constructor requires arguments', async () => {
    const schema = defineEntity({ name: 'Needy', properties: { ...key, name: p.string() } });
    class Needy extends schema.class {
      #length: number;
      constructor(name: string) {
        super();
        this.#length = name.length;
      }
      size() {
        return this.#length;
      }
    }
    schema.setClass(Needy as never);
    await expect(start([Needy], Needy)).rejects.toThrow(
      /Needy has private members \(#length\).*constructor, which fails without arguments \(.*\); write a constructor without parameters/,
    );
  });

  test('of a class whose constructor has optional parameters', async () => {
    const schema = defineEntity({ name: 'Willing', properties: { ...key, name: p.string() } });
    class Willing extends schema.class {
      #first: unknown;
      constructor(name?: string) {
        super();
        this.#first = name?.[0];
      }
      first() {
        return this.#first;
      }
    }
    schema.setClass(Willing as never);
    await expect(start([Willing], Willing)).rejects.toThrow(/Willing has private members \(#first\).*which has parameters/);
  });

  test('in a subclass, if an association refers to its parent class', async () => {
    const schema = defineEntity({
      name: 'Root',
      abstract: true,
      discriminatorColumn: 'kind',
      properties: { ...key, kind: p.string(), next: () => p.manyToOne(Root).nullable() },
    });
    class Root extends schema.class {}
    schema.setClass(Root);
    const child = defineEntity({ name: 'Child', extends: Root, discriminatorValue: 'child', properties: {} });
    class Child extends child.class {
      #own() {
        return 1;
      }
      size() {
        return this.#own();
      }
    }
    child.setClass(Child as never);
    await expect(start([Root, Child], Root)).rejects.toThrow(/Child has private members \(#own\).*Root.next refers to Root/);
  });

  test('but a # in a string is not an error, with any constructor', async () => {
    const schema = defineEntity({ name: 'Sign', properties: { ...key, name: p.string() } });
    class Sign extends schema.class {
      label: string;
      constructor(name: string) {
        super();
        this.label = `#${name.length}`;
      }
    }
    schema.setClass(Sign as never);
    const app = await start([Sign], Sign);
    await app.close();
  });
});

/** As TypeScript compiles `#ink = 'blue'` for targets before ES2022. */
const _Stamp_ink = new WeakMap<object, string>();
function classPrivateFieldGet(receiver: object, state: WeakMap<object, string>): string {
  const value = state.get(receiver);
  if (value === undefined) throw new TypeError('Cannot read private member from an object whose class did not declare it');
  return value;
}
const StampSchema = defineEntity({
  name: 'Stamp',
  properties: {
    id: p.integer().primary().groups('read'),
    motif: p.string().groups('read', 'write'),
    shown: p.string().persist(false).getter().groups('read'),
  },
});
class Stamp extends StampSchema.class {
  constructor() {
    super();
    _Stamp_ink.set(this, 'blue');
  }
  override get shown(): string {
    return `${this.motif} in ${classPrivateFieldGet(this, _Stamp_ink)}`;
  }
  validate() {
    return this.shown.startsWith('bad') ? [{ propertyPath: 'motif', title: 'is bad' }] : [];
  }
}
StampSchema.setClass(Stamp as never);

describe.each(databases)('private members in compiled JavaScript on %s', (kind) => {
  const { request } = useApplication(kind, {
    app_main: { apis: { stamp: { class: Stamp, base_path: '/stamp', actions: everything } } },
    models: [Stamp],
  });

  test('are there on reads and writes', async () => {
    expect(await request('POST', '/stamp.json', { json: { motif: 'Owl' } })).toMatchObject({
      status: 201,
      json: { shown: 'Owl in blue' },
    });
    expect((await request('GET', '/stamp.json')).json.results).toEqual([{ id: 1, motif: 'Owl', shown: 'Owl in blue' }]);
    expect((await request('PATCH', '/stamp/1.json', { json: { motif: 'bad' } })).status).toBe(422);
    expect((await request('PATCH', '/stamp/1.json', { json: { motif: 'Fox' } })).json).toMatchObject({ shown: 'Fox in blue' });
    expect((await request('DELETE', '/stamp/1.json')).status).toBe(204);
  });
});
