import type { ApiRequest } from '../access/user.ts';
import type { ValidationContext } from '../change/validation.ts';
import type { Violation } from '../errors.ts';
import type { AnyQueryBuilder } from '../query/entities/restriction.ts';
import { JsonReply } from '../response/json-reply.ts';

/** What a controller can hook into, in calling order. A hook that returns a reply ends the request with it. */
export interface ControllerHooks {
  customizeQuery(action: string, request: ApiRequest, query: AnyQueryBuilder): unknown;
  afterFetch(action: string, request: ApiRequest, fetched: unknown): unknown;
  checkAccess(action: string, request: ApiRequest, subject: unknown): Promise<void>;
  afterAccessCheck(action: string, request: ApiRequest, subject: unknown): unknown;
  beforeValidation(action: string, request: ApiRequest, entity: object): unknown;
  validate(entity: object, context: ValidationContext): Violation[] | Promise<Violation[]>;
  afterValidation(action: string, request: ApiRequest, entity: object): unknown;
  afterCommit(action: string, request: ApiRequest, entity: object): unknown;
  beforeSerialize(action: string, request: ApiRequest, value: unknown): unknown;
}

export type HookName = keyof ControllerHooks;

/**
 * What each hook needs. The one list of hooks: everything that asks about them asks here, and a hook that is left out does not compile.
 *
 * - `rows`: it is shown rows while they are read, which then have to be objects.
 * - `changes`: it takes part in a change, so that statements alone cannot make it.
 * - `replies`: it can end a request with a reply that nobody else knows.
 */
export const hookNeeds = {
  customizeQuery: { rows: false, changes: false, replies: true },
  afterFetch: { rows: true, changes: true, replies: true },
  checkAccess: { rows: false, changes: false, replies: false },
  afterAccessCheck: { rows: false, changes: true, replies: true },
  beforeValidation: { rows: false, changes: true, replies: true },
  validate: { rows: false, changes: true, replies: false },
  afterValidation: { rows: false, changes: true, replies: true },
  afterCommit: { rows: false, changes: true, replies: true },
  beforeSerialize: { rows: true, changes: true, replies: true },
} as const satisfies Readonly<Record<HookName, HookNeeds>>;

interface HookNeeds {
  readonly rows: boolean;
  readonly changes: boolean;
  readonly replies: boolean;
}

export const hookNames = Object.freeze(Object.keys(hookNeeds)) as readonly HookName[];

/** The hooks that a controller overrides. */
export function overriddenHooks(controller: ControllerHooks, base: ControllerHooks): ReadonlySet<HookName> {
  return new Set(hookNames.filter((name) => controller[name] !== base[name]));
}

/** The first of some hooks that has a need; undefined if none has. */
export function hookWith(hooks: Iterable<HookName>, need: keyof HookNeeds): HookName | undefined {
  for (const name of hooks) if (hookNeeds[name][need]) return name;
  return undefined;
}

/** Thrown to leave an action with the reply that a hook gave. */
export class EarlyReply {
  readonly reply: JsonReply;

  constructor(reply: JsonReply) {
    this.reply = reply;
  }
}

/** Waits for a hook, and leaves the action if it gave a reply. */
export async function runHook(result: unknown): Promise<void> {
  const given = await result;
  if (given instanceof JsonReply) throw new EarlyReply(given);
}
