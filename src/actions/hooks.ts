import type { ApiRequest } from '../access/user.ts';
import type { ValidationContext } from '../change/validation.ts';
import type { Violation } from '../errors.ts';
import type { AnyQueryBuilder } from '../query/entities/restriction.ts';
import { JsonReply } from '../response/json-reply.ts';

/** The hooks of a controller, in calling order. A hook that returns a reply ends the request with it. */
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
 * The needs of each hook. This is the only list of hooks: code does not compile if one is missing here.
 *
 * - `rows`: it receives rows while they are read, which then have to be objects.
 * - `changes`: it takes part in changes, so that statements alone cannot make them.
 * - `replies`: it can end a request with a response that only the application knows.
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

/** The first of some hooks with a need; undefined if none has it. */
export function hookWith(hooks: Iterable<HookName>, need: keyof HookNeeds): HookName | undefined {
  for (const name of hooks) if (hookNeeds[name][need]) return name;
  return undefined;
}

/** Thrown to end an action with the reply of a hook. */
export class EarlyReply {
  readonly reply: JsonReply;

  constructor(reply: JsonReply) {
    this.reply = reply;
  }
}

/** Waits for a hook, and ends the action if it returned a reply. */
export async function runHook(result: unknown): Promise<void> {
  const given = await result;
  if (given instanceof JsonReply) throw new EarlyReply(given);
}
