import type { Vote } from '../access/voter.ts';
import type { ParameterNames } from '../declaration/names/list-names.ts';

/** The response to a request, and the reasons for it. Plain data, as `declarest explain --json` prints it. */
export interface Explanation {
  readonly method: string;
  readonly path: string;
  /**
   * `answered`: the response has the status. `stopped`: a write that would succeed, stopped before its first change. Its status
   * is the one that it would return, or null if code that did not run decides it. `refused`: 4xx. `failed`: 5xx.
   */
  readonly outcome: 'answered' | 'stopped' | 'refused' | 'failed';
  readonly status: number | null;
  /** The first reason for an error; null without an error. */
  readonly reason: Reason | null;
  readonly database: ExplainedDatabase;
  /** The route that matches; null if none does. */
  readonly route: ExplainedRoute | null;
  /** If no route matches: every route, with the reason. */
  readonly others: readonly { readonly name: string; readonly path: string; readonly reason: string }[];
  readonly caller: Caller;
  /** The steps of the request, in order. */
  readonly steps: readonly Step[];
  readonly fields: ExplainedFields;
  /** The statements of a write that was stopped, which were not sent. Empty if MikroORM would write. */
  readonly changes: readonly StatementStep[];
  /** The further steps of a write that was stopped. */
  readonly next: readonly string[];
}

export interface Reason {
  /** The code of the problem document; null without a problem document. */
  readonly code: string | null;
  readonly message: string;
  /** The fix, if one is known. */
  readonly remedy: string | null;
}

export interface ExplainedDatabase {
  /** Without a password. */
  readonly address: string;
  /**
   * `existing`: the database itself, opened read-only. `fresh`: it does not exist yet, so a new one in memory was used, with the
   * schema and the seed. `copy`: a copy of a database that only the running application can open.
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
  /** In the order of the checks; empty if the method is public. */
  readonly roles: readonly string[];
  /** Whether compiled statements read and write the rows; null for custom handlers. */
  readonly compiled: boolean | null;
  /** Why a default action is not compiled. */
  readonly needsEntity: string | null;
  /** The declared filters, orders and searches of a list. */
  readonly asked: ParameterNames | null;
}

export interface Caller {
  /** Whether the request had a credential, a given user instead of one, or neither. */
  readonly by: 'credential' | 'given' | 'nobody';
  readonly user: {
    readonly id: string | number;
    readonly roles: readonly string[];
    /** The names of all other claims. */
    readonly claims: readonly string[];
  } | null;
  /** Why the credential was rejected. */
  readonly refused: string | null;
}

export type Step = StatementStep | CheckStep | CallStep;

/** A statement that was sent to the database. */
export interface StatementStep {
  readonly kind: 'statement';
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /** The application code that caused it; null if the framework did. */
  readonly by: string | null;
}

/** An access check. */
export interface CheckStep {
  readonly kind: 'check';
  /** Whether it decides about groups of fields: then a denial is not an error. */
  readonly isForGroups: boolean;
  /** `Person 1`; null without a subject. */
  readonly subject: string | null;
  readonly strategy: string;
  /** In the order of the checks. */
  readonly roles: readonly RoleCheck[];
  /** Null if a voter failed. */
  readonly granted: boolean | null;
}

export interface RoleCheck {
  readonly role: string;
  readonly votes: readonly CastVote[];
  /** Null if an earlier role was denied, or a voter failed. */
  readonly granted: boolean | null;
}

export interface CastVote {
  readonly voter: string;
  readonly vote: Vote | 'failed';
}

/** A call of a hook or handler of the application. */
export interface CallStep {
  readonly kind: 'call';
  /** `PersonController.customizeQuery` */
  readonly name: string;
  /** Whether a hook ended the request with a reply of its own. */
  readonly replied: boolean;
  /** Whether it threw. */
  readonly threw: boolean;
}

export interface ExplainedFields {
  /** The groups of the action, with the decisions about their roles. */
  readonly groups: readonly ExplainedGroup[];
  /** The fields that the caller does not get or may not send, because a role is not granted. */
  readonly absent: readonly AbsentField[];
  /** The fields of the action that the caller can read; null if a custom handler decides. */
  readonly read: readonly string[] | null;
  /** The fields of the response; null if it has none. */
  readonly sent: readonly string[] | null;
  /** The fields that the caller can write; null without a body. */
  readonly write: readonly string[] | null;
}

export interface ExplainedGroup {
  readonly use: 'read' | 'write';
  readonly name: string;
  /** The role that callers need; null: the group applies to everyone. */
  readonly role: string | null;
  /** Whether it applies to the row of the path, or to the rows of a list; null if the request ended before the decision. */
  readonly applies: boolean | null;
  /** Whether it applies to rows inside the response; null if that was not decided. */
  readonly appliesInside: boolean | null;
  /** The votes that denied the role: `MedicalVoter voted deny on Person 2`; null if it was granted or not checked. */
  readonly reason: string | null;
}

export interface AbsentField {
  /** The path in JSON. */
  readonly path: string;
  readonly use: 'read' | 'write';
  /** The roles of which one is enough. */
  readonly roles: readonly string[];
  /** Why they were not granted; null if they were not checked. */
  readonly reason: string | null;
}
