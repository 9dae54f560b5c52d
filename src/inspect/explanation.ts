import type { Vote } from '../access/voter.ts';
import type { AskedNames } from '../declaration/names/list-names.ts';

/** What becomes of a request, and why. Plain data: `declarest explain --json` prints it as it is. */
export interface Explanation {
  readonly method: string;
  readonly path: string;
  /**
   * `answered`: with the status. `stopped`: a write that nothing was found against, before it changed anything; the status is
   * what it would be answered with, and null where only code that was not run can say. `refused`: 4xx. `failed`: 5xx.
   */
  readonly outcome: 'answered' | 'stopped' | 'refused' | 'failed';
  readonly status: number | null;
  /** The first reason why it was not answered; null where it was. */
  readonly reason: Reason | null;
  readonly database: ExplainedDatabase;
  /** Who answers; null where nobody does. */
  readonly route: ExplainedRoute | null;
  /** Where nobody answers, why each of the routes does not. */
  readonly others: readonly { readonly name: string; readonly path: string; readonly reason: string }[];
  readonly caller: Caller;
  /** What was done, in order. */
  readonly steps: readonly Step[];
  readonly fields: ExplainedFields;
  /** What would follow where it was stopped. */
  readonly next: readonly string[];
}

export interface Reason {
  /** The code of the problem document; null where the answer is none. */
  readonly code: string | null;
  readonly message: string;
  /** What to do about it, where that can be said. */
  readonly remedy: string | null;
}

export interface ExplainedDatabase {
  /** Without a password. */
  readonly address: string;
  /**
   * `existing`: the database itself, which was asked to refuse every change. `fresh`: there is none yet, so it was explained on a new
   * one in memory, with the schema and the seed. `copy`: a copy of one that only the running application can open.
   */
  readonly is: 'existing' | 'fresh' | 'copy';
}

export interface ExplainedRoute {
  readonly name: string;
  readonly path: string;
  readonly format: string;
  readonly params: Readonly<Record<string, string>>;
  readonly controller: string;
  readonly handler: string;
  /** In the order they are asked for; none means public. */
  readonly roles: readonly string[];
  /** Whether reads are compiled; null for writes and for handlers of the application's own. */
  readonly compiled: boolean | null;
  /** Why a read of a default action is not compiled. */
  readonly needsEntity: string | null;
  /** What the list can be asked, where the action gives one that declares it. */
  readonly asked: AskedNames | null;
}

export interface Caller {
  /** Whether a credential was sent, a user was given in place of one, or neither. */
  readonly by: 'credential' | 'given' | 'nobody';
  readonly user: {
    readonly id: string | number;
    readonly roles: readonly string[];
    /** The names of all other claims. */
    readonly claims: readonly string[];
  } | null;
  /** Why a credential was refused. */
  readonly refused: string | null;
}

export type Step = StatementStep | CheckStep | CallStep;

/** A statement that was sent to the database. */
export interface StatementStep {
  readonly kind: 'statement';
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /** The code of the application that had it sent; null where it was the framework itself. */
  readonly by: string | null;
}

/** An access check. */
export interface CheckStep {
  readonly kind: 'check';
  /** `Person 1`; null for what has no id. */
  readonly subject: string | null;
  readonly strategy: string;
  /** In the order they are asked for. */
  readonly roles: readonly RoleCheck[];
  /** Null where a voter failed. */
  readonly granted: boolean | null;
}

export interface RoleCheck {
  readonly role: string;
  readonly votes: readonly CastVote[];
  /** Null where nobody was asked any more, or a voter failed. */
  readonly granted: boolean | null;
}

export interface CastVote {
  readonly voter: string;
  readonly vote: Vote | 'failed';
}

/** A hook or a handler of the application that was called. */
export interface CallStep {
  readonly kind: 'call';
  /** `PersonController.customizeQuery` */
  readonly name: string;
  /** Whether a hook ended the request with a reply of its own. */
  readonly replied: boolean;
}

export interface ExplainedFields {
  /** What can go out by the plan of the action; null where a handler of the application's own decides. */
  readonly read: readonly string[] | null;
  /** What went out; null where there was no answer with fields. */
  readonly sent: readonly string[] | null;
  /** What a body may hold; null for what takes none. */
  readonly write: readonly string[] | null;
}
