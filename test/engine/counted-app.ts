import { type Collection, defineEntity, p, raw } from '@mikro-orm/core';
import {
  ApiController,
  type ApiRequest,
  Authenticator,
  type CodeOptions,
  Denormalizer,
  problem,
  type User,
  type Violation,
  Voter,
} from '../../src/index.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

/** The number of calls of each step of the application's code since the last `reset`. Tests send one request at a time. */
export class Calls {
  readonly #counts = new Map<string, number>();

  count(step: string): void {
    this.#counts.set(step, (this.#counts.get(step) ?? 0) + 1);
  }

  reset(): void {
    this.#counts.clear();
  }

  of(step: string): number {
    return this.#counts.get(step) ?? 0;
  }

  all(): [step: string, count: number][] {
    return [...this.#counts];
  }
}

/** The code that an API of the application has, beside its voters. */
export interface Variant {
  /** The controller restricts queries. */
  readonly restricts: boolean;
  /** The controller has every hook and its own `validate`. */
  readonly hooks: boolean;
  /** The model has `addTag`, `removeTag`, `validate` and constraints. */
  readonly rules: boolean;
  /** The model has a getter and a property serializer. */
  readonly shows: boolean;
  /** The model has a version column. */
  readonly version: boolean;
  /** The associations of the model have a denormalizer. */
  readonly denormalizer: boolean;
  /** Bodies and responses hold the associations of the model. */
  readonly embeds: boolean;
}

const nothing: Variant = {
  restricts: false,
  hooks: false,
  rules: false,
  shows: false,
  version: false,
  denormalizer: false,
  embeds: true,
};

/** One API and one model for each. */
export const variants = {
  everything: { restricts: true, hooks: true, rules: true, shows: true, version: true, denormalizer: true, embeds: true },
  restricted: { ...nothing, restricts: true },
  versioned: { ...nothing, restricts: true, version: true },
  ruled: { ...nothing, restricts: true, rules: true },
  shown: { ...nothing, restricts: true, shows: true },
  hooked: { ...nothing, restricts: true, hooks: true },
  unrestricted: { ...nothing, rules: true },
  denormalized: { ...nothing, restricts: true, denormalizer: true },
  bare: { ...nothing, restricts: true, embeds: false },
  bareRuled: { ...nothing, restricts: true, rules: true, embeds: false },
} satisfies Record<string, Variant>;

export type VariantName = keyof typeof variants;

/** Forms that the framework cannot add to the conditions of a statement of its own. */
export const shapedForms = ['to-many join', 'group', 'to-many condition', 'limit'];

/** What a form of restriction has to work with. */
interface Restricted {
  readonly query: Any;
  /** Another query builder on the model, with the same alias. */
  readonly another: () => Any;
  readonly toOne: string;
  readonly toMany: string;
  readonly table: string;
}

const open = { open: true };

/** The forms of `customizeQuery`, chosen by the header `x-form`. Each but `none` hides the rows that are not open. */
export const forms: Record<string, (restricted: Restricted) => unknown> = {
  none: () => undefined,
  where: ({ query }) => void query.andWhere(open),
  'to-one join': ({ query, toOne }) => void query.leftJoin(`e.${toOne}`, 'one').andWhere({ 'one.open': true }),
  'to-many join': ({ query, toMany }) => void query.leftJoin(`e.${toMany}`, 'many').andWhere({ 'many.open': true }),
  'to-many condition': ({ query, toMany }) => void query.andWhere({ [toMany]: open }),
  group: ({ query, toMany }) => void query.leftJoin(`e.${toMany}`, 'many').groupBy('e.id').having('count(many.id) > ?', [0]),
  limit: ({ query }) => void query.andWhere(open).limit(50),
  distinct: ({ query }) => void query.select('*', true).andWhere(open),
  order: ({ query }) => void query.andWhere(open).orderBy({ name: 'desc' }),
  clone: ({ query }) => query.clone().andWhere(open),
  'another query': ({ another }) => another().where(open),
  'sub-select': ({ query, table }) => void query.andWhere({ id: { $in: raw(`select id from ${table} where open = ?`, [true]) } }),
  union: ({ query, table }) =>
    void query.andWhere({
      id: { $in: raw(`select id from ${table} where open = ? union select id from ${table} where id = ?`, [true, -1]) },
    }),
  async: async ({ query }) => {
    await new Promise((resolve) => setImmediate(resolve));
    query.andWhere(open);
  },
};

const Place = defineEntity({
  name: 'Place',
  embeddable: true,
  properties: {
    shelf: p.integer().groups('read', 'write'),
    row: p.string().nullable().groups('read', 'write'),
  },
});

function modelsOf(calls: Calls) {
  const Category = defineEntity({
    name: 'Category',
    properties: {
      id: p.integer().primary().groups('read'),
      name: p.string().groups('read'),
      open: p.boolean(),
      parent: () => p.manyToOne(Category as never).nullable(),
      tags: () => p.oneToMany(Tag as never).mappedBy('category' as never),
    },
  } as Any) as Any;
  const Tag = defineEntity({
    name: 'Tag',
    properties: {
      id: p.integer().primary().groups('read'),
      name: p.string().groups('read'),
      open: p.boolean(),
      category: () => p.manyToOne(Category).nullable(),
      kin: () => p.manyToMany(Category),
    },
  } as Any) as Any;
  const items = Object.fromEntries(
    Object.entries(variants).map(([name, variant]) => [name, itemOf(name, variant, { calls, Category, Tag })]),
  ) as Record<VariantName, Any>;
  return { Category, Tag, items };
}

function itemOf(name: string, variant: Variant, { calls, Category, Tag }: { calls: Calls; Category: Any; Tag: Any }) {
  const groups = variant.embeds ? ['read', 'write'] : [];
  const code = p.string().length(40).unique().groups('read', 'write');
  const schema = defineEntity({
    name: modelName(name),
    tableName: tableName(name),
    properties: {
      id: p.integer().primary().groups('read'),
      name: p.string().length(40).groups('read', 'write'),
      code: variant.shows
        ? code.serializer((value: string) => {
            calls.count(`serializer of ${value}`);
            return value;
          })
        : code,
      open: p.boolean().default(true).groups('read', 'write'),
      amount: p.integer().default(0).groups('read'),
      data: p.json().nullable().groups('read', 'write'),
      place: () => p.embedded(Place).nullable().groups('read', 'write'),
      category: () =>
        p
          .manyToOne(Category)
          .nullable()
          .groups(...groups),
      tags: () => p.manyToMany(Tag).groups(...groups),
      ...(variant.shows && { label: p.string().persist(false).getter().groups('read') }),
      ...(variant.version && { version: p.integer().version() }),
    },
  } as Any) as Any;
  class Item extends schema.class {
    declare id: number;
    declare name: string;
    declare amount: number;
    declare tags: Collection<object>;
  }
  if (variant.shows) {
    Object.defineProperty(Item.prototype, 'label', {
      configurable: true,
      get(this: Item) {
        calls.count(`getter of ${this.id}`);
        return `label of ${this.name}`;
      },
    });
  }
  if (variant.rules) {
    Object.assign(Item, {
      constraints: {
        name: {
          '~standard': {
            version: 1,
            vendor: 'test',
            validate: (value: unknown) => {
              calls.count('constraint');
              return { value };
            },
          },
        },
      },
    });
    Object.assign(Item.prototype, {
      addTag(this: Item, tag: object) {
        calls.count('addTag');
        this.tags.add(tag);
        this.amount = this.tags.count();
      },
      removeTag(this: Item, tag: object) {
        calls.count('removeTag');
        this.tags.remove(tag);
        this.amount = this.tags.count();
      },
      validate(this: Item) {
        calls.count('model.validate');
        const violations: Violation[] = [];
        if (this.name === 'bad') violations.push({ propertyPath: 'name', title: 'must not be bad' });
        if (this.tags.isInitialized() && this.tags.count() > 3) violations.push({ propertyPath: 'tags', title: 'too many' });
        return violations;
      },
    });
  }
  schema.setClass(Item);
  return Item;
}

export const modelName = (variant: string) => `${variant.charAt(0).toUpperCase()}${variant.slice(1)}`;
/** Other words than those that SQL reserves. */
export const tableName = (variant: string) => `item_${variant.toLowerCase()}`;

const ownerColumn = (variant: string) => `${variant.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}_id`;

function controllerOf(name: string, { hooks, restricts }: Variant, model: Any, calls: Calls) {
  class ItemController extends ApiController {
    async infoApi(id: number, request: ApiRequest) {
      calls.count('handler');
      await this.getEntity('info', id, request);
      return this.getEntity('info', id, request);
    }

    async touchApi(id: number, request: ApiRequest) {
      calls.count('handler');
      const item = await this.getEntity('touch', id, request);
      item.name = 'touched';
      if (request.headers['x-handler'] === 'throw') throw problem('bad_request', { reason: 'the handler threw' });
      await this.em.flush();
      if (request.headers['x-handler'] === 'status') return this.json([{ propertyPath: 'name', title: 'must not be touched' }]);
      return item;
    }

    labelApi(id: number, request: ApiRequest) {
      calls.count('handler');
      return this.addRemove('label', id, request, { property: 'tags' });
    }

    mineApi(request: ApiRequest) {
      calls.count('handler');
      return this.paginate('mine', request, this.em.createQueryBuilder(model, 'm').where(open));
    }

    async totalApi(request: ApiRequest) {
      calls.count('handler');
      const query = (this as Any).query('total', request);
      return { total: await (await query).getCount() };
    }

    workApi(_request: ApiRequest) {
      calls.count('handler');
      return { done: true };
    }
  }
  const prototype = ItemController.prototype as Any;
  if (restricts) {
    prototype.customizeQuery = function (this: Any, _action: string, request: ApiRequest, query: Any) {
      calls.count('customizeQuery');
      const another = () => this.em.createQueryBuilder(model, 'e');
      return restrict(request, { query, another, toOne: 'category', toMany: 'tags', table: tableName(name) });
    };
  }
  if (hooks) {
    for (const hook of [
      'afterFetch',
      'afterAccessCheck',
      'beforeValidation',
      'afterValidation',
      'afterCommit',
      'beforeSerialize',
    ]) {
      prototype[hook] = async () => calls.count(hook);
    }
    prototype.validate = function (entity: object) {
      calls.count('controller.validate');
      return ApiController.prototype.validate.call(this, entity);
    };
  }
  return ItemController;
}

function restrict(request: ApiRequest, restricted: Restricted): unknown {
  const form = forms[String(request.headers['x-form'] ?? 'none')];
  if (!form) throw new Error('unknown form of restriction');
  return form(restricted);
}

function otherController(model: Any, step: string, calls: Calls, names: Pick<Restricted, 'table' | 'toMany' | 'toOne'>) {
  return class OtherController extends ApiController {
    override customizeQuery(_action: string, request: ApiRequest, query: Any) {
      calls.count(step);
      return restrict(request, { query, another: () => this.em.createQueryBuilder(model, 'e'), ...names });
    }
  };
}

function countedOptions(url: string, calls: Calls): CodeOptions {
  const { Category, Tag, items } = modelsOf(calls);

  /** The caller is named by a header. */
  class HeaderAuthenticator extends Authenticator {
    override authenticate(request: Any): User | null {
      const id = request.headers['x-user'];
      return id ? { id: String(id), roles: [] } : null;
    }
  }

  class SeeVoter extends Voter {
    static override roles = ['SEE'];
    override vote(_role: string, _subject: unknown, _user: User | null, request: Any) {
      calls.count('voter SEE');
      return request.headers['x-deny'] === 'SEE' ? ('deny' as const) : ('grant' as const);
    }
  }

  class ChangeVoter extends Voter<Any> {
    static override roles = ['CHANGE'];
    override async vote(_role: string, subject: Any, _user: User | null, request: Any) {
      calls.count('voter CHANGE');
      if (subject && typeof subject.name !== 'string') throw new Error('the subject is not loaded');
      return request.headers['x-deny'] === 'CHANGE' ? ('deny' as const) : ('grant' as const);
    }
  }

  class CategoryDenormalizer extends Denormalizer {
    static override properties = ['Everything.category', 'Denormalized.category'];
    override denormalize(value: Any, types: Any, context: Any) {
      calls.count('denormalize category');
      return context.resolve(value, types);
    }
  }

  class TagDenormalizer extends Denormalizer {
    static override properties = ['Everything.tags', 'Denormalized.tags'];
    override denormalize(value: Any, types: Any, context: Any) {
      calls.count(`denormalize tag ${value?.id}`);
      return context.resolve(value, types);
    }
  }

  const roles = { POST: 'CHANGE', PATCH: 'CHANGE', PUT: 'CHANGE', DELETE: 'CHANGE' };
  const pick = (...methods: (keyof typeof roles)[]) => Object.fromEntries(methods.map((method) => [method, roles[method]]));
  const controllers = Object.fromEntries(
    Object.entries(variants).map(([name, variant]) => [name, controllerOf(name, variant, items[name as VariantName], calls)]),
  );
  const apis = Object.fromEntries(
    Object.keys(variants).map((name) => [
      name,
      {
        class: items[name as VariantName],
        base_path: `/${name}`,
        controller: controllers[name],
        base_role: 'SEE',
        filters: variants[name as VariantName].embeds
          ? { name: ['starts'], 'tags.name': ['eq'], 'category.name': ['eq', 'ne'] }
          : { name: ['starts'] },
        sort: ['name', 'id'],
        search: ['name'],
        actions: {
          _index: {
            methods: { GET: true, HEAD: true, POST: true },
            roles: pick('POST'),
            formats: ['json', 'csv', 'ndjson', 'xml'],
          },
          _entity: {
            methods: { GET: true, HEAD: true, PATCH: true, PUT: true, DELETE: true },
            roles: pick('PATCH', 'PUT', 'DELETE'),
          },
          tags: { association: { property: 'tags' }, methods: { POST: true, DELETE: true }, roles: pick('POST', 'DELETE') },
          label: { methods: { POST: true, DELETE: true }, roles: pick('POST', 'DELETE') },
          info: { methods: { GET: true } },
          touch: { methods: { POST: true }, roles: pick('POST') },
          mine: { 'single-collection': 'collection', methods: { GET: true } },
          total: { 'single-collection': 'collection', methods: { GET: true } },
          work: { 'single-collection': 'collection', methods: { POST: true }, roles: pick('POST') },
        },
      },
    ]),
  );
  const others = {
    tag: otherController(Tag, 'tag.customizeQuery', calls, { table: 'tag', toMany: 'kin', toOne: 'category' }),
    category: otherController(Category, 'category.customizeQuery', calls, { table: 'category', toMany: 'tags', toOne: 'parent' }),
  };
  return {
    app_main: {
      apis: {
        ...apis,
        tag: { class: Tag, base_path: '/tag', controller: others.tag, actions: { _index: null, _entity: null } },
        category: {
          class: Category,
          base_path: '/category',
          controller: others.category,
          actions: { _index: null, _entity: null },
        },
      },
      database: { url, schema: 'update' },
    } as Any,
    models: [Category, Place, Tag, ...Object.values(items)],
    controllers: [...Object.values(controllers), ...Object.values(others)],
    voters: [SeeVoter, ChangeVoter],
    denormalizers: [CategoryDenormalizer, TagDenormalizer],
    authenticators: [HeaderAuthenticator],
  };
}

export interface CountedApplication extends TestApplication {
  readonly calls: Calls;
  /** Puts the rows of a variant into their first state. */
  restore(variant: VariantName): Promise<void>;
  /** The rows of a variant. */
  rows(variant: VariantName): Promise<unknown>;
  /** Changes the version of an item behind the application's back. */
  outdate(variant: VariantName, id: number): Promise<void>;
}

/** Items that are visible, one that is hidden, tags that are linked to 1001 or not, and one tag that is hidden. */
export const ids = { item: 1001, other: 1002, hidden: 1003, missing: 9999 };

/** Starts a new application; what it learnt about the models in other applications is not shared. */
export async function startCounted(
  url: string,
  internal: { readonly compiledReads?: boolean } = {},
): Promise<CountedApplication> {
  const calls = new Calls();
  const app = await startApplication({ ...countedOptions(url, calls), ...internal });
  const execute = (sql: string): Promise<Any> => app.application.mapper.em.fork().execute(sql);
  for (const sql of [
    "insert into category (id, name, open) values (1001, 'north', true), (1002, 'closed', false), (1003, 'south', true)",
    'update category set parent_id = 1001 where open',
    `insert into tag (id, name, open, category_id) values
      (1001, 'one', true, 1001), (1002, 'two', true, 1001), (1003, 'three', true, 1003), (1004, 'closed', false, null), (1005, 'five', true, 1001)`,
    'insert into tag_kin (tag_id, category_id) select t.id, c.id from tag t, category c where t.open and c.open',
  ]) {
    await execute(sql);
  }
  return {
    ...app,
    calls,
    async restore(variant) {
      const table = tableName(variant);
      const version = variants[variant].version ? { column: ', version', value: ', 1' } : { column: '', value: '' };
      // one transaction, as each commit waits for the disk
      await app.application.mapper.em.fork().transactional(async (em) => {
        await em.execute(`delete from ${table}_tags`);
        await em.execute(`delete from ${table}`);
        await em.execute(`insert into ${table} (id, name, code, open, category_id, amount${version.column}) values
          (1001, 'first', 'a-first', true, 1001, 0${version.value}),
          (1002, 'second', 'a-second', true, 1003, 0${version.value}),
          (1003, 'third', 'a-third', false, 1002, 0${version.value})`);
        await em.execute(`insert into ${table}_tags (${ownerColumn(variant)}, tag_id) values
          (1001, 1001), (1001, 1002), (1002, 1001), (1002, 1002), (1002, 1003)`);
      });
      calls.reset();
    },
    async rows(variant) {
      const table = tableName(variant);
      return [await execute(`select * from ${table} order by id`), await execute(`select * from ${table}_tags order by 1, 2`)];
    },
    async outdate(variant, id) {
      await execute(`update ${tableName(variant)} set version = version + 1 where id = ${id}`);
    },
  };
}

export type NestedApplication = TestApplication & { readonly calls: Calls };

/** Nodes that refer to nodes, and shelves with books, a class with two APIs: one restricts its rows, the other asks a voter. */
export async function startNested(url: string): Promise<NestedApplication> {
  const calls = new Calls();
  const Node = defineEntity({
    name: 'Node',
    properties: {
      id: p.integer().primary().groups('read'),
      open: p.boolean().default(true),
      parent: () =>
        p
          .manyToOne(Node as never)
          .nullable()
          .groups('read', 'write'),
    },
  } as Any) as Any;
  const Book = defineEntity({
    name: 'Book',
    properties: { id: p.integer().primary().groups('read'), open: p.boolean().default(true) },
  } as Any) as Any;
  const Shelf = defineEntity({
    name: 'Shelf',
    properties: {
      id: p.integer().primary().groups('read'),
      first: () => p.manyToOne(Book).nullable().groups('read', 'write'),
      books: () => p.manyToMany(Book).groups('read', 'write'),
    },
  } as Any) as Any;
  const controllerFor = (name: string, model: Any) =>
    class NestedController extends ApiController {
      override customizeQuery(action: string, request: ApiRequest, query: Any) {
        calls.count(`${name}.customizeQuery ${action}`);
        const another = () => this.em.createQueryBuilder(model, 'e');
        return restrict(request, { query, another, toOne: 'parent', toMany: 'parent', table: name });
      }
    };
  const NodeController = controllerFor('node', Node);
  const BookController = controllerFor('book', Book);

  class ShopVoter extends Voter<Any> {
    static override roles = ['SHOP'];
    override vote(_role: string, subject: Any) {
      calls.count(`voter SHOP for ${subject?.id ?? null}`);
      return 'deny' as const;
    }
  }

  const writes = { _index: { methods: { GET: true, POST: true } }, _entity: { methods: { GET: true, PATCH: true, PUT: true } } };
  const app = await startApplication({
    app_main: {
      apis: {
        node: { class: Node, base_path: '/node', controller: NodeController, actions: writes },
        book: { class: Book, base_path: '/book', controller: BookController, actions: { _index: null, _entity: null } },
        shop: { class: Book, base_path: '/shop', base_role: 'SHOP', actions: { _entity: null } },
        shelf: { class: Shelf, base_path: '/shelf', actions: writes },
      },
      database: { url, schema: 'update' },
    } as Any,
    models: [Node, Book, Shelf],
    controllers: [NodeController, BookController],
    voters: [ShopVoter],
    seed: (em: Any) => {
      const nodes = [1, 2, 3, 4].map((id) => em.create(Node, { open: id !== 4 }));
      nodes[1].parent = nodes[0];
      nodes[2].parent = nodes[1];
      const books = [1, 2, 3].map((id) => em.create(Book, { open: id !== 3 }));
      for (let i = 0; i < 2; i++) em.create(Shelf, { first: books[i] }).books.add(...books);
    },
  });
  return { ...app, calls };
}
