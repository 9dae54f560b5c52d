import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiController, type ApiRequest, Authenticator, type User } from '../../src/index.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

const Person: Any = defineEntity({ name: 'Person', properties: { id: p.integer().primary().groups('read') } });
const Note: Any = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary().groups('read'), person: () => p.manyToOne(Person).nullable().groups('read') },
});

/** Every caller may read, and nobody else. */
class ReaderAuthenticator extends Authenticator {
  override authenticate(): User {
    return { id: 'otto', roles: ['ROLE_READER'] };
  }
}

let app: TestApplication;
/** Runs during the next access check of a person. */
let during: (() => Promise<void>) | null = null;

class PersonController extends ApiController<Any> {
  override async checkAccess(action: string, request: ApiRequest, subject: unknown) {
    await super.checkAccess(action, request, subject as never);
    const now = during;
    during = null;
    await now?.();
  }
}

/** Whether a person is visible in a note depends on the caller, because not every API shows every person. */
class NobodyController extends ApiController<Any> {
  override customizeQuery(_action: string, _request: ApiRequest, query: Any) {
    query.andWhere({ id: -1 });
  }
}

beforeAll(async () => {
  app = await startApplication({
    models: [Person, Note],
    controllers: [PersonController, NobodyController],
    authenticators: [ReaderAuthenticator],
    app_main: {
      database: { url: 'sqlite::memory:', schema: 'update' },
      security: { authenticator: ReaderAuthenticator },
      apis: {
        person: {
          class: Person,
          base_path: '/person',
          controller: PersonController,
          actions: {
            _entity: { methods: { GET: true, DELETE: true }, roles: { GET: 'ROLE_READER', DELETE: 'ROLE_ADMIN' } },
          },
        },
        nobody: { class: Person, base_path: '/nobody', controller: NobodyController, actions: { _entity: null } },
        note: { class: Note, base_path: '/note', actions: { _entity: null } },
      },
    },
    seed: async (em: Any) => {
      em.create(Note, { id: 1, person: em.create(Person, { id: 1 }) });
      await em.flush();
    },
  } as Any);
});
afterAll(() => app?.close());

test('a request that an access check sends is checked with its own method', async () => {
  const statuses: number[] = [];
  const remove = async () => (await app.app.inject({ method: 'DELETE', url: '/person/1.json' })).statusCode;
  // while it is decided whether the embedded person is visible
  during = async () => {
    statuses.push(await remove());
  };
  const { json } = await app.request('GET', '/note/1.json');
  expect(during).toBeNull();
  expect([...statuses, await remove()]).toEqual([403, 403]);
  expect(json).toEqual({ id: 1, person: { id: 1 } });
});
