import { setTimeout as sleep } from 'node:timers/promises';
import { type Collection, defineEntity, p } from '@mikro-orm/core';
import {
  ApiController,
  type ApiRequest,
  Authenticator,
  type CodeOptions,
  problem,
  type User,
  type Violation,
  Voter,
} from '../../src/index.ts';

type Any = any;

/** The models that requests are sent to; each has an API of the same name. */
export const kinds = {
  /** With `validate()`, `addMark` and `removeMark`. */
  ruled: { rules: true, version: false },
  /** The same with a version column. */
  versioned: { rules: true, version: true },
  /** Without code in the model. */
  plain: { rules: false, version: false },
  /** Without code in the model, with a version column. */
  numbered: { rules: false, version: true },
} as const;

export type Kind = keyof typeof kinds;

/** At most as many marks pass `validate()`, and at most as many bumps pass the handler. */
export const limits = { marks: 3, bumps: 3 };

const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});

const Folder = defineEntity({ name: 'Folder', properties: { id: p.integer().primary(), open: p.boolean() } });

const Size = defineEntity({
  name: 'Size',
  embeddable: true,
  properties: {
    width: p.integer().groups('read', 'write'),
    height: p.integer().groups('read', 'write'),
    unit: p.string().groups('read', 'write'),
  },
} as Any) as Any;

function modelOf(kind: Kind) {
  const { rules, version } = kinds[kind];
  const schema = defineEntity({
    name: `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`,
    tableName: kind,
    properties: {
      id: p.integer().primary().groups('read'),
      title: p.string().groups('read', 'write'),
      owner: p.string().groups('read', 'write'),
      tenant: p.string().groups('read', 'write'),
      locked: p.boolean().default(false).groups('read', 'write'),
      low: p.integer().default(0).groups('read', 'write'),
      high: p.integer().default(0).groups('read', 'write'),
      amount: p.integer().default(0).groups('read'),
      markCount: p.integer().default(0).groups('read'),
      pause: p.integer().default(0),
      data: p.json().nullable().groups('read', 'write'),
      size: () => p.embedded(Size).groups('read', 'write'),
      folder: () => p.manyToOne(Folder),
      refs: () => p.manyToMany(Tag).groups('read', 'write'),
      labels: () => p.manyToMany(Tag).groups('read'),
      marks: () => p.manyToMany(Tag).groups('read'),
      ...(version && { version: p.integer().version() }),
    },
  } as Any) as Any;
  class Doc extends schema.class {
    declare low: number;
    declare high: number;
    declare pause: number;
    declare markCount: number;
    declare marks: Collection<object>;
  }
  if (rules) {
    Object.assign(Doc.prototype, {
      addMark(this: Doc, mark: object) {
        this.marks.add(mark);
        this.markCount = this.marks.count();
      },
      removeMark(this: Doc, mark: object) {
        this.marks.remove(mark);
        this.markCount = this.marks.count();
      },
      async validate(this: Doc) {
        const violations: Violation[] = [];
        if (this.low > this.high) violations.push({ propertyPath: 'low', title: 'must not be above high' });
        if (this.markCount > limits.marks) violations.push({ propertyPath: 'marks', title: 'too many' });
        if (this.pause > 0) await sleep(this.pause);
        return violations;
      },
    });
  }
  schema.setClass(Doc);
  return Doc;
}

/** The caller and the tenant are named by headers. */
class HeaderAuthenticator extends Authenticator {
  override authenticate(request: Any): User | null {
    const { 'x-user': id, 'x-tenant': tenant } = request.headers;
    return id ? { id: String(id), roles: [], tenant: String(tenant) } : null;
  }
}

const pauseOf = (request: Any) => Number(request.headers['x-pause'] ?? 0);

class OwnerVoter extends Voter<Any> {
  static override roles = ['OWNER'];
  override vote(_role: string, subject: Any, user: User | null, request: Any) {
    const isGranted = request.method === 'GET' || user?.id === 'admin' || subject?.owner === user?.id;
    return isGranted ? ('grant' as const) : ('deny' as const);
  }
}

class UnlockedVoter extends Voter<Any> {
  static override roles = ['UNLOCKED'];
  override async vote(_role: string, subject: Any, _user: User | null, request: Any) {
    const vote = subject.locked ? ('deny' as const) : ('grant' as const);
    const pause = pauseOf(request);
    if (pause > 0) await sleep(pause);
    return vote;
  }
}

/** The forms of `customizeQuery`, chosen by the header `x-form`. All of them show the rows of the caller's tenant. */
export const pairForms = ['where', 'to-one join', 'to-many join', 'group', 'async'] as const;

export type PairForm = (typeof pairForms)[number];

function controllerOf() {
  return class DocController extends ApiController {
    override customizeQuery(_action: string, request: ApiRequest, query: Any) {
      query.andWhere({ tenant: request.user?.tenant });
      const form = request.headers['x-form'] as PairForm;
      if (form === 'to-one join') query.leftJoin('e.folder', 'f').andWhere({ 'f.open': true });
      if (form === 'to-many join') query.leftJoin('e.refs', 'r');
      if (form === 'group') query.leftJoin('e.refs', 'r').groupBy('e.id').having('count(*) > ?', [0]);
      return form === 'async' ? sleep(1) : undefined;
    }

    /** Written as the documentation shows it: no lock, no transaction. */
    async bumpApi(id: number, request: ApiRequest) {
      const doc = await this.getEntity('bump', id, request);
      if (doc.amount >= limits.bumps) throw problem('bad_request', { reason: 'too many' });
      const pause = pauseOf(request);
      if (pause > 0) await sleep(pause);
      doc.amount += 1;
      await this.em.flush();
      return doc;
    }

    stickApi(id: number, request: ApiRequest) {
      return this.addRemove('stick', id, request, { property: 'labels' });
    }
  };
}

export function pairOptions(url: string): CodeOptions {
  const models = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, modelOf(kind as Kind)]));
  const controllers = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, controllerOf()]));
  const roles = (...methods: string[]) => Object.fromEntries(methods.map((method) => [method, 'UNLOCKED']));
  const link = { methods: { POST: true, DELETE: true }, roles: roles('POST', 'DELETE') };
  const apis = Object.fromEntries(
    Object.keys(kinds).map((kind) => [
      kind,
      {
        class: models[kind],
        base_path: `/${kind}`,
        controller: controllers[kind],
        base_role: 'OWNER',
        actions: {
          _entity: { methods: { GET: true, PATCH: true, PUT: true, DELETE: true }, roles: roles('PATCH', 'PUT', 'DELETE') },
          labels: { ...link, association: { property: 'labels' } },
          marks: { ...link, association: { property: 'marks' } },
          stick: link,
          bump: { methods: { POST: true }, roles: roles('POST') },
        },
      },
    ]),
  );
  return {
    app_main: { apis, database: { url, schema: 'update' } } as Any,
    models: [Tag, Folder, Size, ...Object.values(models)],
    controllers: Object.values(controllers),
    voters: [OwnerVoter, UnlockedVoter],
    authenticators: [HeaderAuthenticator],
    seed: (em) => {
      for (let id = 1; id <= 6; id++) em.create(Tag, { id, name: `tag ${id}` } as never);
      em.create(Folder, { id: 1, open: true } as never);
    },
  };
}
