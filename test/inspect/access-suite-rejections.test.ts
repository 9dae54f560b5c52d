import { defineEntity, p } from '@mikro-orm/core';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ApiController, type ApiRequest, type CodeOptions, type ModelQuery, problem, type User } from '../../src/index.ts';
import { type AccessSuiteOptions, accessSuite } from '../support/testing.ts';

/** Whether the framework ignores `customizeQuery`: the suite has to find that. */
const faults = vi.hoisted(() => ({ isUnrestricted: false }));
vi.mock('../../src/actions/restriction.ts', async (original) => {
  const real = await original<typeof import('../../src/actions/restriction.ts')>();
  const restrictionOf: typeof real.restrictionOf = (...given) => (faults.isUnrestricted ? null : real.restrictionOf(...given));
  return { ...real, restrictionOf };
});

interface Customer {
  id: number;
  tenant: string;
}
const Customer = defineEntity({
  name: 'Customer',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().length(80).groups('read', 'write'),
    tenant: p.string().length(40),
  },
});
const Order = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: {
    id: p.integer().primary().groups('read'),
    customer: () => p.manyToOne(Customer).groups('read', 'write'),
  },
});

function tenantOf(user: User | null): string {
  if (!user) throw problem('authentication_required');
  if (typeof user.tenant !== 'string') throw problem('access_denied');
  return user.tenant;
}

class CustomerController extends ApiController<Customer> {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Customer>) {
    query.andWhere({ tenant: tenantOf(request.user) });
  }
  override beforeValidation(action: string, request: ApiRequest, customer: Customer) {
    if (action === '_index') customer.tenant = tenantOf(request.user);
  }
  async totalApi(request: ApiRequest) {
    return { total: await (await this.query('total', request)).getCount() };
  }
}

const collection = { GET: true, HEAD: true, POST: true };
const single = { GET: true, HEAD: true, PATCH: true, PUT: true, DELETE: true };

function shop(controller: typeof ApiController<Customer>, base_role?: string): CodeOptions {
  return {
    app_main: {
      apis: {
        customer: {
          class: Customer,
          base_path: '/customer',
          controller,
          ...(base_role && { base_role }),
          actions: {
            _index: { methods: collection },
            _entity: { methods: single },
            total: { methods: { GET: true }, 'single-collection': 'collection' },
          },
        },
        order: { class: Order, base_path: '/order', actions: { _index: { methods: collection }, _entity: { methods: single } } },
      },
      security: { jwt: { secret: 'a-secret-of-more-than-thirty-two-characters' } },
    },
    models: [Customer, Order],
    controllers: [controller],
    seed: async (em) => {
      for (const tenant of ['acme', 'globex']) {
        const customer = em.create(Customer, { name: 'Ada', tenant });
        em.create(Order, { customer });
      }
      await em.flush();
    },
  } as CodeOptions;
}

const actors = { 'a user of ACME': { id: 1, roles: ['ROLE_USER'], tenant: 'acme' } };

/** Runs every test of the suite, and returns the messages of those that fail. */
async function failuresOf(options: CodeOptions & Partial<AccessSuiteOptions>): Promise<Record<string, string>> {
  const tests: { title: string; work: () => Promise<void> }[] = [];
  const ends: (() => Promise<void>)[] = [];
  await accessSuite({
    actors,
    fields: { app_api_single_customer_total: ['total'] },
    ...options,
    test: (title, work) => tests.push({ title, work }),
    afterAll: (end) => ends.push(end),
  } as AccessSuiteOptions);
  const failures: Record<string, string> = {};
  for (const { title, work } of tests) await work().catch((error: Error) => Object.assign(failures, { [title]: error.message }));
  for (const end of ends) await end();
  return failures;
}

describe('the access suite, if customizeQuery rejects some callers', () => {
  afterEach(() => {
    faults.isUnrestricted = false;
  });

  test.each(['ROLE_USER', undefined])('passes with the base role %s', async (role) => {
    expect(await failuresOf(shop(CustomerController, role))).toEqual({});
  });

  test('expects the status of any thrown error, and fails for a defect', async () => {
    class StatusController extends CustomerController {
      override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Customer>) {
        if (!request.user) throw Object.assign(new Error('not now'), { statusCode: 409 });
        if (request.user.tenant === undefined) throw new Error('the tenant is unknown');
        query.andWhere({ tenant: request.user.tenant as string });
      }
      override beforeValidation() {}
    }
    const failures = await failuresOf(shop(StatusController, 'ROLE_USER'));
    expect(Object.keys(failures).filter((title) => title.endsWith('as anonymous'))).toEqual([]);
    expect(failures['GET /customer/{id}.{_format} as a user with ROLE_USER alone']).toBe('the tenant is unknown');
  });

  test('finds that customizeQuery does not run', async () => {
    faults.isUnrestricted = true;
    const failures = await failuresOf(shop(CustomerController));
    expect(failures['GET /customer.{_format} as anonymous']).toBe(
      'GET /customer.json as anonymous: returned 200, but must return 401: CustomerController.customizeQuery throws it',
    );
    expect(failures['DELETE /customer/{id}.{_format} as anonymous']).toContain('returned 409, but must return 401');
  });

  test('expects the status that getEntity or checkAccess throws', async () => {
    class OpenController extends ApiController<Customer> {
      override async getEntity(action: string, id: unknown, request: ApiRequest): Promise<Customer> {
        if (!request.user) throw problem('conflict', { reason: 'closed' });
        return super.getEntity(action, id, request);
      }
      override async checkAccess(_action: string, _request: ApiRequest, subject: Customer | null): Promise<void> {
        if (subject?.tenant === 'acme') throw problem('entity_not_found', { model: 'customer' });
      }
      totalApi() {
        return { total: 2 };
      }
    }
    expect(await failuresOf(shop(OpenController))).toEqual({});
  });
});
