import type { FastifyRequest } from 'fastify';
import type { SecurityDeclaration } from '../declaration/types.ts';
import { isPromiseLike } from './promise-like.ts';
import type { User } from './user.ts';
import type { Vote, Voter } from './voter.ts';

/** How votes become a decision. */
export type Strategy = SecurityDeclaration['strategy'];

/** What a single vote settles, whatever the others say; null leaves it open. */
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
 * Asks the voters in order, until the decision is certain: a vote may settle the matter; if none does, more grants than denies are
 * needed, under every strategy, as what is still open then holds no grant (affirmative), no deny (unanimous), neither (priority), or is
 * a count (consensus). It is made at once where they all answer at once. A voter that
 * throws, whatever it throws, is a fault of the application and no decision: the error names it and carries the cause.
 */
export function poll(strategy: Strategy, voters: readonly Voter[], question: Question): boolean | Promise<boolean> {
  return pollFrom(0, 0, strategy, voters, question);
}

function pollFrom(
  start: number,
  startLead: number,
  strategy: Strategy,
  voters: readonly Voter[],
  question: Question,
): boolean | Promise<boolean> {
  let lead = startLead;
  for (let index = start; index < voters.length; index++) {
    const voter = voters[index] as Voter;
    const answer = ask(voter, question);
    if (isPromiseLike(answer)) {
      return Promise.resolve(answer)
        .catch((error: unknown) => {
          throw failed(voter, question.role, error);
        })
        .then((late) => {
          const vote = toVote(late, voter, question.role);
          return settles[strategy][vote] ?? pollFrom(index + 1, lead + weights[vote], strategy, voters, question);
        });
    }
    const vote = toVote(answer, voter, question.role);
    const settled = settles[strategy][vote];
    if (settled !== null) return settled;
    lead += weights[vote];
  }
  return lead > 0;
}

function ask(voter: Voter, { role, subject, user, request }: Question): unknown {
  try {
    return voter.vote(role, subject, user, request);
  } catch (error) {
    throw failed(voter, role, error);
  }
}

function failed(voter: Voter, role: string, cause: unknown): Error {
  return new Error(`the voter ${voter.constructor.name} failed for the role "${role}"`, { cause });
}

function toVote(answer: unknown, voter: Voter, role: string): Vote {
  if (answer === 'grant' || answer === 'deny' || answer === 'abstain') return answer;
  const shown =
    typeof answer === 'string' ? JSON.stringify(answer) : answer === null ? 'null' : `a value of type ${typeof answer}`;
  throw new Error(
    `the voter ${voter.constructor.name} answered ${shown} for the role "${role}"; vote() must return 'grant', 'deny' or 'abstain'`,
  );
}
