import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import type { CodeOptions } from '../../../src/application.ts';
import { ApiController, type ApiRequest, type ModelQuery } from '../../../src/index.ts';

/** Stands in every value that a caller who is not the administrator must never see. */
export const marker = 'HIDDEN-';

/** A folder of this name would have the code of the first one. */
export const takenName = 'taken';

export const Folder = defineEntity({
  name: 'Folder',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().length(40).groups('read', 'write'),
    // in no group, and unique; made of what is sent
    code: p
      .string()
      .nullable()
      .unique()
      .onCreate((folder: any) => folder.code ?? (folder.name === takenName ? `${marker}code-first` : null)),
    // only added to and removed from
    pages: () => p.manyToMany(Page),
  },
});

export const Page = defineEntity({
  name: 'Page',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().length(60).groups('read', 'write'),
    data: p.json<unknown>().nullable().groups('read', 'write'),
    // may be sent, is never shown
    pin: p.string().nullable().unique().groups('write'),
    parent: () => p.manyToOne(Page).nullable().groups('write'),
    siblings: () => p.manyToMany(Page).groups('write'),
    folder: () => p.manyToOne(Folder).nullable().groups('read', 'write'),
    // in no group
    owner: p.string().default('nobody'),
    secret: p.text().nullable(),
    isAdmin: p.boolean().default(false),
    rank: p.integer().default(0),
    // in a group of neither default action
    draft: p.string().nullable().groups('internal'),
  },
});

/** Everybody sees their own pages, the administrator all of them. */
export class PageController extends ApiController {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<any>) {
    if (!request.user?.roles.includes('ROLE_ADMIN')) query.andWhere({ owner: String(request.user?.id) });
  }

  async stampApi(id: number, request: ApiRequest) {
    return this.getEntity('stamp', id, request);
  }

  recentApi(request: ApiRequest) {
    const query = this.em.createQueryBuilder(Page, 'e');
    this.customizeQuery('recent', request, query as never);
    return this.paginate('recent', request, query);
  }
}

const writable = {
  _index: { methods: { GET: true, HEAD: true, POST: true } },
  _entity: { methods: { GET: true, HEAD: true, PUT: true, PATCH: true, DELETE: true } },
} as const;

const page = { class: Page, controller: PageController, base_role: 'ROLE_USER' } as const;

/** Pages of two people. Two further APIs of the same class, one with the same restriction, one for the administrator alone. */
export const vault: CodeOptions = {
  app_main: {
    security: { jwt: { secret: 'a secret of the vault that is long enough' } },
    apis: {
      page: {
        ...page,
        base_path: '/page',
        // nobody reads what it is ordered by
        default_sort: ['rank'],
        actions: {
          ...writable,
          stamp: { methods: { GET: true, HEAD: true, POST: true } },
          recent: { single_collection: 'collection', methods: { GET: true, HEAD: true } },
        },
      },
      mirror: { ...page, base_path: '/mirror', default_sort: ['title'], actions: writable },
      archive: { class: Page, base_path: '/archive', base_role: 'ROLE_ADMIN', actions: writable },
      folder: {
        class: Folder,
        base_path: '/folder',
        base_role: 'ROLE_USER',
        default_sort: ['name'],
        actions: { ...writable, pages: { association: { property: 'pages', types: [Page] } } },
      },
    },
  } as never,
  models: [Folder, Page],
  controllers: [PageController],
  seed: seedVault,
};

/** Ids count from 1: Ann has 1, 3 and 5, Bob 2, 4 and 6. */
async function seedVault(em: EntityManager): Promise<void> {
  for (const name of ['first', 'second', 'third']) {
    em.create(Folder, { name, code: `${marker}code-${name}` } as never);
    await em.flush();
  }
  for (let id = 1; id <= 6; id++) {
    const isAnns = id % 2 === 1;
    em.create(Page, {
      title: isAnns ? `ann ${id}` : `${marker}title-${id}`,
      owner: isAnns ? 'ann' : 'bob',
      secret: `${marker}secret-${id}`,
      draft: `${marker}draft-${id}`,
      pin: `${marker}pin-${id}`,
      rank: 7_340_000 + id,
      folder: isAnns ? 1 : null,
    } as never);
    await em.flush();
  }
}

export const ann = { id: 'ann', roles: ['ROLE_USER'] };
export const bob = { id: 'bob', roles: ['ROLE_USER'] };
export const admin = { id: 'root', roles: ['ROLE_ADMIN', 'ROLE_USER'] };
