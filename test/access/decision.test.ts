import { defineEntity, MikroORM, p } from '@mikro-orm/core';
import { SqliteDriver } from '@mikro-orm/sql';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { poll, type Strategy, strategies } from '../../src/access/decision.ts';
import { type Vote, Voter } from '../../src/access/voter.ts';
import type { Mapper } from '../../src/database/mapper.ts';
import { type Problem, problem } from '../../src/errors.ts';
import { guardUnloaded } from '../../src/model/unloaded.ts';
import { fakeRequest, thrownBy } from './fake-request.ts';

const question = { role: 'PERSON_SEE', subject: null, user: null, request: fakeRequest() };

/** Says what it was told to, and counts how often it was asked. */
class ScriptedVoter extends Voter {
  asked = 0;
  readonly #answer: () => unknown;

  constructor(answer: () => unknown) {
    super();
    this.#answer = answer;
  }

  vote(): Vote {
    this.asked++;
    return this.#answer() as Vote;
  }
}

const saying = (...answers: unknown[]) => answers.map((answer) => new ScriptedVoter(() => answer));

/** The strategies as the documentation words them, without any shortcut. */
function model(strategy: Strategy, votes: readonly Vote[]): boolean {
  const grants = votes.filter((vote) => vote === 'grant').length;
  const denies = votes.filter((vote) => vote === 'deny').length;
  if (strategy === 'affirmative') return grants >= 1;
  if (strategy === 'consensus') return grants > denies;
  if (strategy === 'unanimous') return denies === 0 && grants >= 1;
  return votes.find((vote) => vote !== 'abstain') === 'grant';
}

const anyStrategy = fc.constantFrom(...strategies);
const anyVotes = fc.array(fc.constantFrom<Vote>('grant', 'deny', 'abstain'), { maxLength: 7 });

describe('the decision', () => {
  const decide = (strategy: Strategy, votes: readonly Vote[]) => poll(strategy, saying(...votes), question);

  test('agrees with the naive model for all strategies and votes', () => {
    fc.assert(
      fc.property(anyStrategy, anyVotes, (strategy, votes) => {
        expect(decide(strategy, votes)).toBe(model(strategy, votes));
      }),
      { numRuns: 500 },
    );
  });

  test.each(strategies)('denies under %s without votes or if all abstain', (strategy) => {
    expect(decide(strategy, [])).toBe(false);
    expect(decide(strategy, ['abstain', 'abstain'])).toBe(false);
  });

  test('denies a tie under consensus', () => {
    expect(decide('consensus', ['grant', 'deny'])).toBe(false);
  });
});

describe('poll', () => {
  test('decides like the naive model, whichever votes are asynchronous', async () => {
    await fc.assert(
      fc.asyncProperty(anyStrategy, anyVotes, fc.infiniteStream(fc.boolean()), async (strategy, votes, late) => {
        const voters = votes.map((vote) => {
          const answer = late.next().value ? Promise.resolve(vote) : vote;
          return new ScriptedVoter(() => answer);
        });
        expect(await poll(strategy, voters, question)).toBe(model(strategy, votes));
      }),
      { numRuns: 500 },
    );
  });

  test('returns synchronously if all voters do', () => {
    expect(poll('consensus', saying('grant', 'abstain'), question)).toBe(true);
  });

  test('awaits any thenable', async () => {
    // biome-ignore lint/suspicious/noThenProperty: a promise of another library is what is tested
    const thenable = { then: (resolve: (vote: Vote) => void) => resolve('deny') };
    expect(await poll('affirmative', saying(thenable), question)).toBe(false);
  });

  test.each([
    ['affirmative', ['deny', 'grant', 'deny'], [1, 1, 0]],
    ['unanimous', ['grant', 'deny', 'grant'], [1, 1, 0]],
    ['priority', ['abstain', 'deny', 'grant'], [1, 1, 0]],
    ['consensus', ['grant', 'grant', 'deny'], [1, 1, 1]],
  ] as const)('under %s calls only the voters needed for the decision, sync or async', async (strategy, votes, asked) => {
    const sync = saying(...votes);
    poll(strategy, sync, question);
    expect(sync.map((voter) => voter.asked)).toEqual(asked);
    const async = saying(...votes.map((vote) => Promise.resolve(vote)));
    await poll(strategy, async, question);
    expect(async.map((voter) => voter.asked)).toEqual(asked);
  });

  test('passes the role, the subject, the user and the request to the voter', () => {
    const given: unknown[] = [];
    class Listening extends Voter {
      vote(...all: unknown[]): Vote {
        given.push(...all);
        return 'grant';
      }
    }
    const [subject, user, request] = [{ id: 7 }, { id: 'u', roles: [] }, fakeRequest()];
    poll('affirmative', [new Listening()], { role: 'PERSON_SEE', subject, user, request });
    expect(given[0]).toBe('PERSON_SEE');
    expect(given[1]).toBe(subject);
    expect(given[2]).toBe(user);
    expect(given[3]).toBe(request);
  });

  const boom = new Error('boom');
  const failing = {
    'throws at once': () => {
      throw boom;
    },
    'rejects later': () => Promise.reject(boom),
  };
  for (const [how, answer] of Object.entries(failing)) {
    test.each(strategies)(`under %s names the voter that ${how}, with the cause`, async (strategy) => {
      const told = { message: `the voter ScriptedVoter failed for the role "${question.role}"`, cause: boom };
      expect(await thrownBy(() => poll(strategy, [new ScriptedVoter(answer)], question))).toMatchObject(told);
      const abstaining = saying('abstain', Promise.resolve('abstain'));
      expect(await thrownBy(() => poll(strategy, [...abstaining, new ScriptedVoter(answer)], question))).toMatchObject(told);
    });
  }

  test('passes on the error of a declared parameter that a voter reads, and wraps every other error', async () => {
    for (const answer of [
      (error: Problem) => () => {
        throw error;
      },
      (error: Problem) => () => Promise.reject(error),
    ]) {
      const malformed = problem('invalid_parameter', { name: 'year', expected: 'must be an integer' });
      expect(await thrownBy(() => poll('affirmative', [new ScriptedVoter(answer(malformed))], question))).toBe(malformed);
      const missing = problem('not_found');
      expect(await thrownBy(() => poll('affirmative', [new ScriptedVoter(answer(missing))], question))).toMatchObject({
        message: 'the voter ScriptedVoter failed for the role "PERSON_SEE"',
        cause: missing,
      });
    }
  });

  test('wraps an error that only looks like that of a parameter', async () => {
    const own = Object.assign(new Error('own'), { code: 'invalid_parameter' });
    const voter = new ScriptedVoter(() => Promise.reject(own));
    expect(await thrownBy(() => poll('affirmative', [voter], question))).toMatchObject({ cause: own });
  });

  test('fails if a voter reads an association of the subject that was not loaded', async () => {
    const Person = defineEntity({ name: 'Person', properties: { id: p.integer().primary(), name: p.string() } });
    const mapper = new MikroORM({ driver: SqliteDriver, dbName: ':memory:', entities: [Person] });
    guardUnloaded(mapper as unknown as Mapper);
    class NameVoter extends Voter<{ name?: string }> {
      vote(_role: string, person: { name?: string }): Vote {
        return person.name === undefined ? 'grant' : 'deny';
      }
    }
    const subject = mapper.em.fork().getReference(Person, 1);
    expect((await thrownBy(() => poll('affirmative', [new NameVoter()], { ...question, subject }))).cause.message).toContain(
      'Person.name was not loaded',
    );
  });

  const nonVotes = [
    true,
    false,
    1,
    0,
    'granted',
    'GRANT',
    'grant ',
    '',
    undefined,
    null,
    {},
    ['grant'],
    () => 'grant',
    Symbol('grant'),
  ];
  for (const strategy of strategies) {
    test.each(nonVotes.map((answer) => [answer]))(`never grants under ${strategy} on the vote %s`, async (answer) => {
      const isPlain = expect.objectContaining({ name: 'Error', message: expect.stringContaining('ScriptedVoter') });
      expect(await thrownBy(() => poll(strategy, saying(answer), question))).toEqual(isPlain);
      expect(await thrownBy(() => poll(strategy, saying(Promise.resolve(answer)), question))).toEqual(isPlain);
    });
  }

  test('rejects a String object as a vote', async () => {
    expect((await thrownBy(() => poll('affirmative', saying(Object('grant')), question))).message).toBe(
      "the voter ScriptedVoter returned a value of type object for the role \"PERSON_SEE\"; vote() must return 'grant', 'deny' or 'abstain'",
    );
  });

  test('shows an invalid string or null as it is in the error', async () => {
    expect((await thrownBy(() => poll('affirmative', saying('yes'), question))).message).toContain('returned "yes" for');
    expect((await thrownBy(() => poll('affirmative', saying(null), question))).message).toContain('returned null for');
  });
});
