import type { FastifyRequest } from 'fastify';
import type { Creatable } from '../declaration/names/create.ts';
import type { User } from './user.ts';

/** The result of a voter; any other value is an error of the voter and never grants. */
export type Vote = 'grant' | 'deny' | 'abstain';

/**
 * Grants or denies one or more roles. Voters of the same role are called in the order in which the application lists them
 * (files and exports alphabetically). Under the strategy `priority`, the first that does not abstain decides.
 *
 * @example
 * class PersonVoter extends Voter<Person> {
 *   static override roles = ['PERSON_SEE'];
 *   vote(role: string, person: Person | null, user: User | null) {
 *     return user !== null && (person === null || person.owner === user.id) ? 'grant' : 'deny';
 *   }
 * }
 */
export abstract class Voter<Subject = unknown> {
  /** The roles that this voter grants or denies. A base class for other voters has none and is never called. */
  static roles: readonly string[] = [];

  /** The associations that the voter reads of its subject, such as `captain` or `captain.crew`. They are loaded first. */
  static loads: readonly string[] = [];

  /** The subject is the entity of a single-entity action, and null for a collection. */
  abstract vote(role: string, subject: Subject | null, user: User | null, request: FastifyRequest): Vote | Promise<Vote>;
}

export type VoterClass = Creatable<Voter> & { readonly roles: readonly string[]; readonly loads: readonly string[] };

/** Whether a module's export is a voter class (and not {@link Voter} itself). */
export function isVoterClass(value: unknown): value is VoterClass {
  return typeof value === 'function' && value.prototype instanceof Voter;
}

/** The associations that a voter declares in `loads`. */
export function loadsOf(voter: Voter): readonly string[] {
  return (voter.constructor as unknown as VoterClass).loads;
}
