import { defineEntity, p } from '@mikro-orm/core';
import { ApiController, type ApiRequest, type CodeOptions, problem, Voter } from '../../src/index.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

export const Tag = defineEntity({ name: 'Tag', properties: { id: p.integer().primary().groups('read') } });
export const Entry = defineEntity({
  name: 'Entry',
  properties: { id: p.integer().primary().groups('read'), text: p.string().groups('read', 'write').unique() },
});
export const Versioned = defineEntity({
  name: 'Versioned',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    version: p.integer().version(),
  },
});
export const Order = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    owner: p.string().nullable().groups('read'),
    data: p.json().nullable().groups('read', 'write'),
    tags: () => p.manyToMany(Tag).groups('read'),
  },
});

/** What the code of the application was called with, and what it does the next time. */
export const seen = {
  calls: [] as string[],
  onAct: null as null | ((em: any, request: ApiRequest) => unknown),
};

class OwnerVoter extends Voter {
  static override roles = ['OWNER'];
  vote(_role: string, subject: unknown, user: { id: unknown } | null) {
    return (subject as { owner?: unknown } | null)?.owner === user?.id ? ('grant' as const) : ('deny' as const);
  }
}

class OrderController extends ApiController {
  override afterAccessCheck(_action: string, request: ApiRequest) {
    seen.calls.push('checked');
    if (request.headers['x-mutate']) (request.body as { name: string }).name += '!';
  }
  override afterValidation(_action: string, request: ApiRequest, entity: { owner?: unknown }) {
    seen.calls.push('validated');
    if (request.user) entity.owner = request.user.id;
  }
  override async afterCommit(_action: string, request: ApiRequest) {
    const [row] = await this.em.fork().execute('select count(*) as n from orders');
    seen.calls.push(`flushed, ${row?.n} orders`);
    if (request.headers['x-after'] === 'fail') throw new Error('after the commit');
    if (request.headers['x-after'] === 'transient') throw Object.assign(new Error('after the commit'), { code: '40001' });
    if (request.headers['x-after'] === 'reply') return this.json({ by: 'hook' }, { status: 202 });
    return undefined;
  }

  /** Writes in several transactions, if it is let. */
  async workApi(request: ApiRequest) {
    seen.calls.push('worked');
    const { text, what } = request.body as { text: string; what?: string };
    this.em.create(Entry, { text });
    await this.em.flush();
    await seen.onAct?.(this.em, request);
    if (what === 'throw') throw new Error('broken');
    if (what === 'refuse') throw problem('bad_request', { reason: 'not so' });
    if (what === 'answer') return this.json({ no: true }, { status: 402 });
    if (what === 'catch') {
      this.em.create(Entry, { text });
      await this.em.flush().catch(() => seen.calls.push('caught'));
      this.em.clear();
    }
    if (what === 'transactional')
      await this.em.transactional(async (em) => {
        em.create(Entry, { text: `${text} too` });
      });
    if (what === 'begin') {
      await this.em.begin();
      this.em.create(Entry, { text: `${text} too` });
      await this.em.commit();
    }
    if (what === 'unflushed') this.em.create(Entry, { text: `${text} too` });
    if (what === 'fork') {
      const em = this.em.fork();
      em.create(Entry, { text: `${text} too` });
      await em.flush();
    }
    return this.json({ text }, { status: 201, headers: { 'x-own': 'yes', 'set-cookie': 'a=b' } });
  }

  /** Fails as if other transactions were in the way. */
  async failApi(request: ApiRequest) {
    seen.calls.push('failed');
    await seen.onAct?.(this.em, request);
    throw Object.assign(new Error('in the way'), { code: '40P01' });
  }

  async markApi(id: number) {
    seen.calls.push('marked');
    const order = await this.em.findOneOrFail(Order, { id });
    await this.transactional(order, async () => {
      order.name += ' marked';
    });
    return order;
  }
}

export function orderOptions(url: string, more: Partial<CodeOptions['app_main']> = {}): CodeOptions {
  const writes = { GET: true, POST: true, PATCH: true, PUT: true, DELETE: true };
  const actions = {
    _index: { methods: { GET: true, POST: true } },
    _entity: { methods: { ...writes, POST: false } },
    tags: { association: { property: 'tags' } },
  };
  const { database, ...rest } = more;
  return {
    app_main: {
      apis: {
        plain: { class: Order, base_path: '/plain', actions },
        hooked: {
          class: Order,
          base_path: '/hooked',
          controller: OrderController,
          actions: {
            ...actions,
            work: { 'single-collection': 'collection', methods: { POST: true } },
            again: { 'single-collection': 'collection', methods: { POST: true }, controller_action: 'workApi', repeatable: true },
            mark: { methods: { POST: true } },
            remark: { methods: { POST: true }, controller_action: 'markApi', repeatable: true },
            fail: { 'single-collection': 'collection', methods: { POST: true } },
            refail: {
              'single-collection': 'collection',
              methods: { POST: true },
              controller_action: 'failApi',
              repeatable: true,
            },
          },
        },
        once: { class: Order, base_path: '/once', actions: { _entity: { ...actions._entity, repeatable: false } } },
        mine: { class: Order, base_path: '/mine', base_role: 'OWNER', actions: { _entity: actions._entity } },
        users: { class: Order, base_path: '/users', base_role: 'ROLE_USER', controller: OrderController, actions },
        versioned: { class: Versioned, base_path: '/versioned', actions: { _entity: actions._entity } },
        entry: { class: Entry, base_path: '/entry', actions: { _index: { methods: { GET: true, POST: true } } } },
      },
      database: { url, schema: 'update', ...database },
      ...rest,
    },
    models: [Order, Entry, Tag, Versioned],
    controllers: [OrderController],
    voters: [OwnerVoter],
    seed: (em) => {
      for (let id = 1; id <= 9; id++) em.create(Order, { name: `order ${id}`, owner: 'anna', data: null } as never);
      for (let id = 1; id <= 5; id++) em.create(Tag, {});
      em.create(Versioned, { name: 'first' } as never);
    },
  };
}

export function startOrders(url: string, more: Partial<CodeOptions['app_main']> = {}): Promise<TestApplication> {
  return startApplication(orderOptions(url, more));
}
