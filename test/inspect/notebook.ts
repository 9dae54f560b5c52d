import { Collection, defineEntity, type EntityManager, p } from '@mikro-orm/core';
import type { CodeOptions } from '../../src/application.ts';
import {
  ApiController,
  type ApiRequest,
  Authenticator,
  type ModelQuery,
  problem,
  type User,
  type Vote,
  Voter,
} from '../../src/index.ts';

export class Label {
  id!: number;
  text!: string;
}

export class Note {
  id!: number;
  title!: string;
  secret = 'of nobody';
  owner!: number;
  hidden = false;
  deleted = false;
  labels = new Collection<Label>(this);

  validate() {
    return this.title === 'forbidden' ? [{ propertyPath: 'title', title: 'is forbidden' }] : [];
  }
}

const labelSchema = defineEntity({
  class: Label,
  properties: { id: p.integer().primary().groups('read'), text: p.string().groups('read') },
});

const noteSchema = defineEntity({
  class: Note,
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().length(20).groups('read', 'write'),
    secret: p.string().default('of nobody'),
    owner: p.integer().groups('write'),
    hidden: p.boolean().default(false),
    deleted: p.boolean().default(false),
    labels: () => p.manyToMany(Label).groups('read'),
  },
  filters: { alive: { name: 'alive', cond: { deleted: false }, default: true } },
} as never);

/** What ran that must not have. */
export const calls: string[] = [];

export class NoteController extends ApiController<Note> {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<Note>) {
    query.andWhere({ hidden: false });
  }

  override afterValidation() {
    calls.push('afterValidation');
  }

  /** Sends a mail, for all that anybody knows. */
  async sendApi(id: number, request: ApiRequest) {
    calls.push('send');
    const note = await this.getEntity('send', id, request);
    note.title = 'sent';
    await this.em.flush();
    return note;
  }

  async firstApi() {
    return this.em.findOne(Note, { id: 1 });
  }

  async countApi() {
    await this.em.execute('update note set owner = owner + 1');
    return { counted: true };
  }

  goneApi() {
    throw problem('entity_not_found', { model: 'page' });
  }

  earlyApi() {
    return this.json({ error: 'too early' }, { status: 425 });
  }
}

export class LabelController extends ApiController<Label> {
  override afterAccessCheck(_action: string, request: ApiRequest) {
    return request.headers['x-early'] ? this.json({ hint: 'later' }, { status: 403 }) : undefined;
  }
}

export class NoteVoter extends Voter<Note> {
  static override roles = ['NOTE_SEE', 'NOTE_CHANGE'];

  override vote(role: string, note: Note | null, user: User | null): Vote {
    if (!user) return 'deny';
    if (role === 'NOTE_SEE' || note === null) return 'grant';
    return note.owner === user.id ? 'grant' : 'deny';
  }
}

export class UndecidedVoter extends Voter {
  static override roles = ['LABEL_SEE'];

  override async vote(): Promise<Vote> {
    return 'abstain';
  }
}

export class BrokenVoter extends Voter {
  static override roles = ['LABEL_COUNT'];

  override vote(): Vote {
    throw new Error('the tables are gone');
  }
}

/** Looks up sessions in the database, as many do. */
export class SessionAuthenticator extends Authenticator {
  authenticate(request: ApiRequest): User | null {
    return request.headers['x-session'] === 'session-of-7' ? { id: 7, roles: ['ROLE_GUEST'] } : null;
  }
}

const everything = { GET: true, HEAD: true, POST: true, PUT: true, PATCH: true, DELETE: true };

export const apiKey = 'a-key-that-is-long-enough';

/** An application with every way to be refused. */
export const notebook: CodeOptions = {
  app_main: {
    security: {
      jwt: { secret: 'a secret of the notebook, long enough' },
      api_keys: { robot: { key: apiKey, roles: ['ROLE_ADMIN'] } },
      role_hierarchy: { ROLE_ADMIN: ['ROLE_EDITOR'] },
    },
    apis: {
      note: {
        class: 'Note',
        base_path: '/note',
        controller: 'NoteController',
        base_role: 'NOTE_SEE',
        actions: {
          _index: { methods: { GET: true, HEAD: true, POST: true, PUT: true } },
          _entity: { methods: everything, roles: { PATCH: 'NOTE_CHANGE', DELETE: 'NOTE_CHANGE' } },
          label: { path: 'labels', association: { property: 'labels' }, roles: { POST: 'NOTE_CHANGE' } },
          send: { methods: { POST: true } },
          first: { 'single-collection': 'collection', methods: { GET: true } },
          count: { 'single-collection': 'collection', methods: { GET: true } },
          gone: { methods: { GET: true } },
          early: { 'single-collection': 'collection', methods: { GET: true } },
        },
      },
      label: {
        class: 'Label',
        base_path: '/label',
        controller: 'LabelController',
        actions: {
          _index: { roles: { GET: 'LABEL_SEE' } },
          _entity: { methods: { GET: true, PATCH: true }, roles: { PATCH: 'LABEL_COUNT' } },
        },
      },
      tag: {
        class: 'Label',
        base_path: '/tag',
        base_role: 'ROLE_EDITOR',
        actions: { _index: null, _entity: { methods: everything } },
      },
    },
  },
  models: [noteSchema, labelSchema],
  controllers: [NoteController, LabelController],
  voters: [NoteVoter, UndecidedVoter, BrokenVoter],
  authenticators: [SessionAuthenticator],
  seed: async (em: EntityManager) => {
    for (const text of ['red', 'blue']) em.create(Label, { text } as never);
    for (const more of [{}, { hidden: true }, { deleted: true }, { owner: 2 }])
      em.create(Note, { title: 'a note', owner: 1, ...more } as never);
    await em.flush();
  },
};
