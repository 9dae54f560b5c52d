import { defineEntity, p } from '@mikro-orm/core';
import { ApiController, type ApiRequest, type CodeOptions, type User, type Vote, Voter } from '../../../src/index.ts';

export const Author = defineEntity({
  name: 'Author',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    tenant: p.string().groups('write'),
  },
});

export const Paper = defineEntity({
  name: 'Paper',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    text: p.text().default('').groups('read', 'write'),
    tenant: p.string().default('a').groups('write'),
    owner: p.string().default('anna'),
    author: () => p.manyToOne(Author).nullable().groups('read', 'write'),
    readers: () => p.manyToMany(Author),
  },
});

/** What code of the application was called. */
export const calls: string[] = [];

const tenantOf = ({ user }: ApiRequest) => String((user as { tenant?: unknown } | null)?.tenant ?? 'a');

class AuthorController extends ApiController {
  override customizeQuery(_action: string, request: ApiRequest, query: any) {
    query.andWhere({ tenant: tenantOf(request) });
  }
}

class PaperController extends ApiController {
  override customizeQuery(action: string, request: ApiRequest, query: any) {
    calls.push(`customizeQuery ${action}`);
    query.andWhere({ tenant: tenantOf(request) });
  }
  override beforeValidation() {
    calls.push('beforeValidation');
  }
  override afterValidation() {
    calls.push('afterValidation');
  }
  override afterCommit() {
    calls.push('afterCommit');
  }

  /** Returns a row that is not the one of the request. */
  async copyApi(request: ApiRequest) {
    calls.push('copy');
    const { text = '', title } = request.body as { title: string; text?: string };
    const paper = this.em.create(Paper, { title, text } as never);
    await this.em.flush();
    return paper;
  }

  /** Returns plain values. */
  async printApi(request: ApiRequest) {
    calls.push('print');
    return { printed: 'x'.repeat(Number((request.body as { length: number }).length)) };
  }
}

class OwnerVoter extends Voter {
  static override roles = ['PAPER_OWNER'];
  override vote(_role: string, paper: unknown, user: User | null): Vote {
    if (paper === null) return 'grant';
    calls.push('vote');
    return (paper as { owner: string }).owner === user?.id ? 'grant' : 'deny';
  }
}

/** Papers without code of the application (`/plain`), with hooks and tenants (`/ours`), and judged by a voter (`/mine`). */
export function paperOptions(idempotency: Record<string, number> = {}): CodeOptions {
  const actions = {
    _index: { methods: { GET: true, POST: true } },
    _entity: { methods: { GET: true, PATCH: true, PUT: true, DELETE: true } },
    readers: { association: { property: 'readers' } },
  };
  const collection = { 'single-collection': 'collection', methods: { POST: true } } as const;
  return {
    app_main: {
      server: { idempotency, body_limit: 4_194_304 },
      apis: {
        plain: { class: Paper, base_path: '/plain', actions },
        ours: {
          class: Paper,
          base_path: '/ours',
          controller: PaperController,
          actions: { ...actions, copy: collection, print: collection },
        },
        author: { class: Author, base_path: '/author', controller: AuthorController, actions: { _entity: actions._entity } },
      },
    } as never,
    models: [Paper, Author],
    controllers: [PaperController, AuthorController],
  };
}

/** The same where a voter judges each paper, and nothing else hides one. */
export function judgedOptions(): CodeOptions {
  const actions = { _index: { methods: { POST: true } }, _entity: { methods: { GET: true, PATCH: true } } };
  return {
    app_main: { apis: { mine: { class: Paper, base_path: '/mine', base_role: 'PAPER_OWNER', actions } } } as never,
    models: [Paper, Author],
    voters: [OwnerVoter],
  };
}
