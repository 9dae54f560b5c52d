import { AsyncLocalStorage } from 'node:async_hooks';
import { helper } from '@mikro-orm/core';
import { Authenticator, authenticateWith } from '../access/authenticator.ts';
import type { Guard } from '../access/guard.ts';
import type { ApiRequest, User } from '../access/user.ts';
import type { Vote, Voter } from '../access/voter.ts';
import type { VoterRegistry } from '../access/voter-registry.ts';
import { ApiController } from '../actions/controller/api-controller.ts';
import { classOf, isDefaultHandler } from '../actions/controller/controller-class.ts';
import { type ControllerHooks, type HookName, hookNames } from '../actions/hooks.ts';
import type { Find, Observer } from '../actions/start/observer.ts';
import { isPromiseLike } from '../database/promise-like.ts';
import type { Writer, Step as WriterStep } from '../database/writer.ts';
import type { ApiDeclaration, HttpMethod } from '../declaration/types.ts';
import { Problem } from '../errors.ts';
import { entityKey } from '../model/identifier.ts';
import { RowChanged } from '../query/rows/row-version.ts';
import { JsonReply } from '../response/json-reply.ts';
import type { RouteRecord } from '../route/record.ts';
import { isEntity } from '../serialization/serializer.ts';
import { currentState } from '../store/request-state.ts';
import type { CastVote, CheckStep, StatementStep, Step } from './explanation.ts';

/** Ends the explanation of a write before the first change. */
export class Stopped extends Error {
  /** The next step: a handler of the application, the body, or the change. */
  readonly before: 'handler' | 'body' | 'change';

  constructor(before: Stopped['before']) {
    super(`stopped before the ${before}`);
    this.before = before;
  }
}

/** The steps and the result of one request. */
export type Recording = ReturnType<typeof emptyRecording>;

function emptyRecording() {
  return {
    steps: [] as Step[],
    /** The caller; undefined if the request ended before authentication. */
    user: undefined as User | null | undefined,
    authenticationError: null as unknown,
    /** The error that ended the request. */
    error: null as unknown,
    /** Whether the row of the path was not found for the caller. */
    isMissing: false,
    /** The statements of the change, which were not sent. They are not known if MikroORM would write them. */
    changes: [] as StatementStep[],
    refusal: null as CheckStep | null,
  };
}

/** The running access check, and the application code that is running. */
interface Within {
  readonly check: OpenCheck | null;
  readonly by: string | null;
}

function openCheck(roles: readonly string[], subject: unknown, strategy: string, isForGroups: boolean) {
  return {
    kind: 'check' as const,
    isForGroups,
    subject: subjectName(subject),
    strategy,
    roles: roles.map((role) => ({ role, votes: [] as CastVote[], granted: null as boolean | null })),
    granted: null as boolean | null,
  };
}

type OpenCheck = ReturnType<typeof openCheck>;

/** Records one request at a time. */
export class Recorder implements Observer {
  readonly #within = new AsyncLocalStorage<Within>();
  /** Why the methods of a route are not compiled; null if they are. */
  readonly plans = new Map<RouteRecord, Map<HttpMethod, string | null>>();
  #recording: Recording | null = null;
  #secrets: readonly string[] = [];
  #given: User | undefined;
  #strategy = '';

  /** Records the request that `work` sends. A given user calls without a credential. */
  async during<Result>(
    work: () => Promise<Result>,
    { user, secrets }: { readonly user: User | undefined; readonly secrets: readonly string[] },
  ): Promise<{ readonly recording: Recording; readonly result: Result }> {
    const recording = emptyRecording();
    this.#recording = recording;
    this.#secrets = secrets.filter(({ length }) => length >= shortestSecret);
    this.#given = user;
    try {
      return { recording, result: await work() };
    } finally {
      this.#recording = null;
    }
  }

  statement(sql: string, parameters: readonly unknown[]): void {
    // what a store reads after the change only tells why nothing was changed
    if (this.#recording?.changes.length === 0) this.#recording.steps.push(this.#statement(sql, parameters));
  }

  #statement(sql: string, parameters: readonly unknown[]): StatementStep {
    return {
      kind: 'statement',
      sql: redactedText(sql, this.#secrets),
      parameters: parameters.map((value) => redacted(value, this.#secrets)),
      by: this.#within.getStore()?.by ?? null,
    };
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
      const recording = this.#recording ?? emptyRecording();
      return watch(
        () => (given ? authenticateWith([givenUser(given)], request) : find(request)),
        (user) => Object.assign(recording, { user }),
        (authenticationError) => Object.assign(recording, { authenticationError }),
      );
    };
  }

  guard(guard: Guard): Guard {
    if (guard.public) return guard;
    return Object.freeze({
      ...guard,
      check: (...args: Parameters<Guard['check']>) => this.#check(guard, args),
      grants: (...args: Parameters<Guard['grants']>) => this.#grants(guard, args),
    });
  }

  hooks(_api: ApiDeclaration, controller: ApiController): ControllerHooks {
    const watched = (name: HookName) => {
      const run = (...args: unknown[]) => Reflect.apply(controller[name], controller, args);
      if (controller[name] === ApiController.prototype[name]) return run;
      return (...args: unknown[]) => this.#call(`${controller.constructor.name}.${name}`, () => run(...args));
    };
    const hooks = Object.fromEntries(hookNames.map((name) => [name, watched(name)])) as unknown as ControllerHooks;
    const hasOwn = controller.afterValidation !== ApiController.prototype.afterValidation;
    return {
      ...hooks,
      // hooks from here on may depend on the change; statements validate before their transaction, and tell more
      afterValidation: () =>
        hasOwn || currentState().isInTransaction ? Promise.reject(new Stopped('change')) : Promise.resolve(undefined),
    };
  }

  /** A writer that changes nothing, as if the row had been changed in between. So the store looks for other reasons first. */
  writer(): Writer {
    const change = async (steps: readonly WriterStep[]) => {
      const recording = this.#recording;
      const changes = steps.map(({ parameters, statement }) =>
        this.#statement(statement.text, typeof parameters === 'function' ? [] : parameters),
      );
      if (recording?.changes.length === 0) recording.changes = changes;
      return [];
    };
    return { change, underWay: () => 0, close: async () => undefined };
  }

  handle(record: RouteRecord, controller: ApiController | null, request: ApiRequest, run: () => unknown): unknown {
    const isDefault = record.api !== null && controller !== null && isDefaultHandler(classOf(controller), record.handler);
    if (request.method === 'GET' || request.method === 'HEAD')
      return isDefault ? run() : this.#call(`${record.controller}.${record.handler}`, run);
    if (!isDefault) throw new Stopped('handler');
    const { em } = currentState();
    const stop = () => Promise.reject(new Stopped('change'));
    em.flush = stop;
    // a removal reads nothing after the start of its transaction
    if (record.handler === 'entityApi' && request.method === 'DELETE') em.begin = stop;
    return Promise.resolve(run()).catch((error: unknown) => {
      throw error instanceof RowChanged ? new Stopped('change') : error;
    });
  }

  planned(record: RouteRecord, method: HttpMethod, needsEntity: string | null): void {
    const plans = this.plans.get(record) ?? new Map<HttpMethod, string | null>();
    this.plans.set(record, plans.set(method === 'HEAD' ? 'GET' : method, needsEntity));
  }

  failed(error: unknown, isMissing: boolean): void {
    if (this.#recording) Object.assign(this.#recording, { error, isMissing });
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
    const role = check?.roles.find((each) => each.role === question[0]);
    const { name } = voter.constructor;
    return watch(
      () => this.#within.run({ check, by: `${name}.vote` }, () => voter.vote(...question)),
      (vote) => role?.votes.push({ voter: name, vote: isVote(vote) ? vote : 'failed' }),
      () => role?.votes.push({ voter: name, vote: 'failed' }),
    );
  }

  #check(guard: Guard, args: Parameters<Guard['check']>): void | Promise<void> {
    const recording = this.#recording;
    return this.#decided(
      openCheck(guard.roles, args[0], this.#strategy, false),
      () => guard.check(...args),
      () => true,
      (check) => {
        if (check.granted === false && recording) recording.refusal ??= check;
      },
    );
  }

  #grants(guard: Guard, args: Parameters<Guard['grants']>): boolean | Promise<boolean> {
    const check = openCheck(guard.roles, args[0], this.#strategy, true);
    return this.#decided(
      check,
      () => guard.grants(...args),
      (granted) => granted,
    );
  }

  #decided<Result>(
    check: OpenCheck,
    decide: () => Result | Promise<Result>,
    grantedBy: (result: Result) => boolean,
    onDecision: (check: OpenCheck) => void = () => undefined,
  ): Result | Promise<Result> {
    this.#recording?.steps.push(check);
    const settle = (granted: boolean | null) => {
      const voted = check.roles.filter(({ votes }) => votes.length > 0);
      for (const role of voted) role.granted = role === voted.at(-1) ? granted : true;
      check.granted = granted;
      onDecision(check);
    };
    const by = this.#within.getStore()?.by ?? null;
    return watch(
      () => this.#within.run({ check, by }, decide),
      (result) => settle(grantedBy(result)),
      (error) => settle(error instanceof Problem ? false : null),
    );
  }

  #call(name: string, run: () => unknown): unknown {
    const step = { kind: 'call' as const, name, replied: false, threw: false };
    this.#recording?.steps.push(step);
    return watch(
      () => this.#within.run({ check: null, by: name }, run),
      (given) => Object.assign(step, { replied: given instanceof JsonReply }),
      () => Object.assign(step, { threw: true }),
    );
  }
}

/** Runs work that may return a promise, and reports its result or error before the caller gets it. */
function watch<Result>(
  work: () => Result | Promise<Result>,
  onResult: (result: Result) => void,
  onError: (error: unknown) => void = () => undefined,
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

/** Authenticates every request as one user. */
function givenUser(user: User): Authenticator {
  return new (class extends Authenticator {
    override authenticate = () => user;
  })();
}

function isVote(value: unknown): value is Vote {
  return value === 'grant' || value === 'deny' || value === 'abstain';
}

/** `Person 1` */
function subjectName(subject: unknown): string | null {
  if (subject === null || subject === undefined) return null;
  if (!isEntity(subject)) return `a value of type ${typeof subject}`;
  return `${helper(subject).__meta.className} ${String(entityKey(subject))}`;
}

/** Shorter texts occur in too many places, and are not secrets. */
const shortestSecret = 6;

function redactedText(text: string, secrets: readonly string[]): string {
  return secrets.reduce((result, secret) => result.replaceAll(secret, '***'), text);
}

/** The value as plain JSON, without secrets. */
function redacted(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return redactedText(value, secrets);
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (Array.isArray(value)) return value.map((item) => redacted(item, secrets));
  if (typeof value === 'object' && value !== null) return redactedText(JSON.stringify(value), secrets);
  return value ?? null;
}
