import { AsyncLocalStorage } from 'node:async_hooks';
import { helper } from '@mikro-orm/core';
import { Authenticator, authenticateWith } from '../access/authenticator.ts';
import type { Guard } from '../access/guard.ts';
import type { ApiRequest, User } from '../access/user.ts';
import type { Vote, Voter } from '../access/voter.ts';
import type { VoterRegistry } from '../access/voter-registry.ts';
import { ApiController } from '../actions/api-controller.ts';
import type { ControllerHooks } from '../actions/hooks.ts';
import type { Find, Observer } from '../actions/start/observer.ts';
import { isPromiseLike } from '../database/promise-like.ts';
import type { ApiDeclaration } from '../declaration/types.ts';
import { Problem } from '../errors.ts';
import { JsonReply } from '../response/json-reply.ts';
import type { RouteRecord } from '../route/record.ts';
import { isEntity } from '../serialization/serializer.ts';
import { currentState } from '../store/request-state.ts';
import type { CallStep, CastVote, CheckStep, RoleCheck, Step } from './explanation.ts';

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };
type OpenRole = Omit<Writable<RoleCheck>, 'votes'> & { votes: CastVote[] };
type OpenCheck = Omit<Writable<CheckStep>, 'roles'> & { roles: OpenRole[] };

/** Ends the explanation of a write before anything is changed. */
export class Stopped extends Error {
  /** What comes next: the application's own handler, the body, or the change. */
  readonly before: 'handler' | 'body' | 'change';

  constructor(before: Stopped['before']) {
    super(`stopped before the ${before}`);
    this.before = before;
  }
}

/** What one request was seen to do. */
export interface Recording {
  readonly steps: readonly Step[];
  /** Who is calling; undefined where nobody found out. */
  readonly user: User | null | undefined;
  /** What finding out ended in, where it failed. */
  readonly authenticationError: unknown;
  /** Whatever the request ended in, where it was an error. */
  readonly error: unknown;
  /** Whether the entity of the path was fetched. */
  readonly loaded: boolean;
  readonly refusal: CheckStep | null;
}

type OpenRecording = Omit<Writable<Recording>, 'steps'> & { steps: Step[] };

/** What runs at the moment: a check, and which code of the application. */
interface Within {
  readonly check: OpenCheck | null;
  readonly by: string | null;
}

/** Watches one request at a time. */
export class Recorder implements Observer {
  readonly #within = new AsyncLocalStorage<Within>();
  readonly #plans = new Map<RouteRecord, string | null>();
  #recording: OpenRecording | null = null;
  #redaction = new Redaction([]);
  #given: User | undefined;
  #strategy = '';

  /** Watches what happens while the work is done. A user that is given calls without a credential. */
  async during(
    work: () => Promise<void>,
    { user, secrets }: { readonly user: User | undefined; readonly secrets: readonly string[] },
  ): Promise<Recording> {
    const recording: OpenRecording = {
      steps: [],
      user: undefined,
      authenticationError: null,
      error: null,
      loaded: false,
      refusal: null,
    };
    this.#recording = recording;
    this.#redaction = new Redaction(secrets);
    this.#given = user;
    try {
      await work();
    } finally {
      this.#recording = null;
    }
    return recording;
  }

  /** Why a route's reads are not compiled; null where they are, undefined where there are none. */
  needsEntity(record: RouteRecord): string | null | undefined {
    return this.#plans.get(record);
  }

  statement(sql: string, parameters: readonly unknown[]): void {
    this.#recording?.steps.push({
      kind: 'statement',
      sql: this.#redaction.text(sql),
      parameters: parameters.map((value) => this.#redaction.value(value)),
      by: this.#within.getStore()?.by ?? null,
    });
  }

  voters(registry: VoterRegistry): VoterRegistry {
    this.#strategy = registry.strategy;
    return Object.freeze({
      ...registry,
      votersFor: (role: string) => registry.votersFor(role).map((voter) => this.#watched(voter)),
    });
  }

  authentication(find: Find): Find {
    return (request) => {
      const given = this.#given;
      const recording = this.#recording;
      const ask = () => (given ? authenticateWith([new GivenUser(given)], request) : find(request));
      return watch(
        ask,
        (user) => {
          if (recording) recording.user = user;
        },
        (error) => {
          if (recording) recording.authenticationError = error;
        },
      );
    };
  }

  guard(guard: Guard): Guard {
    if (guard.public) return guard;
    return Object.freeze({ ...guard, check: (...asked: Parameters<Guard['check']>) => this.#check(guard, asked) });
  }

  hooks(_api: ApiDeclaration, controller: ApiController): ControllerHooks {
    type Hook = Exclude<keyof ControllerHooks, 'onAfterValidation'>;
    const call = <Name extends Hook>(name: Name, ...args: Parameters<ControllerHooks[Name]>) => {
      const run = () => Reflect.apply(controller[name], controller, args);
      const isOwn = controller[name] !== ApiController.prototype[name];
      return isOwn ? this.#call(`${controller.constructor.name}.${name}`, run) : run();
    };
    return {
      customizeQuery: (...args) => call('customizeQuery', ...args),
      onPostFetchEntity: (...args) => {
        if (this.#recording && !Array.isArray(args[2])) this.#recording.loaded = true;
        return call('onPostFetchEntity', ...args);
      },
      onPostCheckAccess: (...args) => call('onPostCheckAccess', ...args),
      validate: (...args) => call('validate', ...args) as ReturnType<ControllerHooks['validate']>,
      // what a hook does from here on may depend on the change being made
      onAfterValidation: () => Promise.reject(new Stopped('change')),
      onAfterFlush: (...args) => call('onAfterFlush', ...args),
      onBeforeSerialize: (...args) => call('onBeforeSerialize', ...args),
    };
  }

  handle(record: RouteRecord, controller: ApiController | null, request: ApiRequest, run: () => unknown): unknown {
    const isDefault = isDefaultHandler(record, controller);
    if (request.method === 'GET' || request.method === 'HEAD')
      return isDefault ? run() : this.#call(`${record.controller}.${record.handler}`, run);
    if (!isDefault) throw new Stopped('handler');
    const { em } = currentState();
    const stop = () => Promise.reject(new Stopped('change'));
    em.flush = stop;
    // what removes a row has nothing to read before it
    if (record.handler === 'entityApi' && request.method === 'DELETE') em.begin = stop;
    return run();
  }

  planned(record: RouteRecord, needsEntity: string | null): void {
    this.#plans.set(record, needsEntity);
  }

  failed(error: unknown): void {
    if (this.#recording) this.#recording.error = error;
  }

  #watched(voter: Voter): Voter {
    return new Proxy(voter, {
      // called on the voter itself, which may have private state
      get: (target, key) =>
        key === 'vote'
          ? (...question: Parameters<Voter['vote']>) => this.#vote(target, question)
          : Reflect.get(target, key, target),
    });
  }

  #vote(voter: Voter, question: Parameters<Voter['vote']>): Vote | Promise<Vote> {
    const { check = null } = this.#within.getStore() ?? {};
    const role = check?.roles.find((asked) => asked.role === question[0]);
    const { name } = voter.constructor;
    const ask = () => this.#within.run({ check, by: `${name}.vote` }, () => voter.vote(...question));
    return watch(
      ask,
      (vote) => role?.votes.push({ voter: name, vote: isVote(vote) ? vote : 'failed' }),
      () => role?.votes.push({ voter: name, vote: 'failed' }),
    );
  }

  #check(guard: Guard, asked: Parameters<Guard['check']>): void | Promise<void> {
    const recording = this.#recording;
    const check: OpenCheck = {
      kind: 'check',
      subject: subjectName(asked[0]),
      strategy: this.#strategy,
      roles: guard.roles.map((role) => ({ role, votes: [], granted: null })),
      granted: null,
    };
    recording?.steps.push(check);
    const settle = (granted: boolean | null) => {
      const heard = check.roles.filter(({ votes }) => votes.length > 0);
      for (const role of heard) role.granted = role === heard.at(-1) ? granted : true;
      check.granted = granted;
      if (granted === false && recording) recording.refusal ??= check;
    };
    const by = this.#within.getStore()?.by ?? null;
    const ask = () => this.#within.run({ check, by }, () => guard.check(...asked));
    return watch(
      ask,
      () => settle(true),
      (error) => settle(error instanceof Problem ? false : null),
    );
  }

  #call(name: string, run: () => unknown): unknown {
    const step: Writable<CallStep> = { kind: 'call', name, replied: false };
    this.#recording?.steps.push(step);
    return watch(
      () => this.#within.run({ check: null, by: name }, run),
      (given) => {
        step.replied = given instanceof JsonReply;
      },
      () => undefined,
    );
  }
}

/** Does a work that ends at once or later, and tells how it ended before anybody else comes to know. */
function watch<Result>(
  work: () => Result | Promise<Result>,
  onResult: (result: Result) => void,
  onError: (error: unknown) => void,
): Result | Promise<Result> {
  const settle = (result: Result) => {
    onResult(result);
    return result;
  };
  const fail = (error: unknown): never => {
    onError(error);
    throw error;
  };
  try {
    const result = work();
    return isPromiseLike(result) ? Promise.resolve(result).then(settle, fail) : settle(result as Result);
  } catch (error) {
    return fail(error);
  }
}

/** Says that whoever calls is a certain user. */
class GivenUser extends Authenticator {
  readonly #user: User;

  constructor(user: User) {
    super();
    this.#user = user;
  }

  override authenticate(): User {
    return this.#user;
  }
}

/** Whether a route is handled by what the framework brings, and by nothing that the application put in its place. */
function isDefaultHandler({ api, handler }: RouteRecord, controller: ApiController | null): boolean {
  if (!api || !controller) return false;
  const parts = defaultHandlers[handler] ?? [];
  return parts.length > 0 && parts.every((name) => controller[name] === ApiController.prototype[name]);
}

const defaultHandlers: Readonly<Record<string, readonly (keyof ApiController)[]>> = {
  indexApi: ['indexApi'],
  entityApi: ['entityApi'],
  addRemoveApi: ['addRemoveApi', 'addRemove'],
};

function isVote(value: unknown): value is Vote {
  return value === 'grant' || value === 'deny' || value === 'abstain';
}

/** `Person 1` */
function subjectName(subject: unknown): string | null {
  if (subject === null || subject === undefined) return null;
  if (!isEntity(subject)) return `a value of type ${typeof subject}`;
  return `${helper(subject).__meta.className} ${String(helper(subject).getPrimaryKey())}`;
}

/** Texts that are shorter would be found in too many places, and are no secrets. */
const shortest = 6;

/** Puts a mark in place of secrets, wherever they turn up, and makes values plain enough for JSON. */
class Redaction {
  readonly #secrets: readonly string[];

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets.filter(({ length }) => length >= shortest);
  }

  text(text: string): string {
    return this.#secrets.reduce((kept, secret) => kept.replaceAll(secret, '***'), text);
  }

  value(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (typeof value === 'bigint') return value.toString();
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    if (typeof value === 'object' && value !== null) return this.text(JSON.stringify(value));
    return value ?? null;
  }
}
