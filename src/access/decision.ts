import type { FastifyRequest } from 'fastify';
import { isPromiseLike } from '../database/promise-like.ts';
import type { SecurityDeclaration } from '../declaration/types.ts';
import { Problem } from '../errors.ts';
import { withLoadedData } from '../model/unloaded.ts';
import type { User } from './user.ts';
import type { Vote, Voter } from './voter.ts';

/** How votes become a decision. */
export type Strategy = SecurityDeclaration['strategy'];

/** The decision that a single vote makes, whatever the others are; null if it makes none. */
const settles: Readonly<Record<Strategy, Readonly<Record<Vote, boolean | null>>>> = {
  affirmative: { grant: true, deny: null, abstain: null },
  consensus: { grant: null, deny: null, abstain: null },
  unanimous: { grant: null, deny: false, abstain: null },
  priority: { grant: true, deny: false, abstain: null },
};

const weights: Readonly<Record<Vote, number>> = { grant: 1, deny: -1, abstain: 0 };

/** The strategies, in the order they are documented. */
export const strategies = Object.freeze(Object.keys(settles)) as readonly Strategy[];

interface Question {
  readonly role: string;
  readonly subject: unknown;
  readonly user: User | null;
  readonly request: FastifyRequest;
}

/**
 * Calls the voters in order until the decision is certain. A vote may decide by itself. If none does, there must be more grants
 * than denies, under every strategy. The votes then include no grant (affirmative), no deny (unanimous), neither (priority), or
 * are counted (consensus). Synchronous if all voters are. A voter that throws makes no decision: the error has its name and
 * cause.
 */
export function poll(
  strategy: Strategy,
  voters: readonly Voter[],
  question: Question,
  start = 0,
  startLead = 0,
): boolean | Promise<boolean> {
  let lead = startLead;
  for (let index = start; index < voters.length; index++) {
    const voter = voters[index] as Voter;
    const result = callVoter(voter, question);
    if (isPromiseLike(result)) {
      return Promise.resolve(result)
        .catch((error: unknown) => {
          throw failed(voter, question.role, error);
        })
        .then((late) => {
          const vote = toVote(late, voter, question.role);
          return settles[strategy][vote] ?? poll(strategy, voters, question, index + 1, lead + weights[vote]);
        });
    }
    const vote = toVote(result, voter, question.role);
    const settled = settles[strategy][vote];
    if (settled !== null) return settled;
    lead += weights[vote];
  }
  return lead > 0;
}

function callVoter(voter: Voter, { role, subject, user, request }: Question): unknown {
  try {
    return subject === null
      ? voter.vote(role, subject, user, request)
      : withLoadedData(() => voter.vote(role, subject, user, request));
  } catch (error) {
    throw failed(voter, role, error);
  }
}

function failed(voter: Voter, role: string, cause: unknown): Error {
  // the voter read a declared query parameter that is missing or malformed
  if (cause instanceof Problem && cause.code === 'invalid_parameter') return cause;
  return new Error(`the voter ${voter.constructor.name} failed for the role "${role}"`, { cause });
}

function toVote(result: unknown, voter: Voter, role: string): Vote {
  if (result === 'grant' || result === 'deny' || result === 'abstain') return result;
  const shown =
    typeof result === 'string' ? JSON.stringify(result) : result === null ? 'null' : `a value of type ${typeof result}`;
  throw new Error(
    `the voter ${voter.constructor.name} returned ${shown} for the role "${role}"; vote() must return 'grant', 'deny' or 'abstain'`,
  );
}
