import { afterAll, describe, expect, test } from 'vitest';
import { type DatabaseKind, databases } from '../support/databases.ts';
import { numbersOn, seed } from '../support/random.ts';
import { Walk } from './walk.ts';

/** How many random applications there are on each database, which are others on the other one. Changed sources get others. */
const applications = Number(process.env.GROUP_APPLICATIONS ?? 1);
const requestsOfEach = process.env.GROUP_APPLICATIONS ? 2000 : 400;
/** The requests of a caller to an API before its next one. */
const requestsInTurn = process.env.GROUP_APPLICATIONS ? 20 : 12;
const sent: Partial<Record<DatabaseKind, number>> = {};

describe.each(databases)(`fields by role in random applications on %s (TEST_SEED=${seed})`, (kind) => {
  test.each(numbersOn(kind, applications))(
    'are returned, accepted and observable exactly as the oracle says, application %i',
    async (number) => {
      const walk = await Walk.start(kind, seed + number * 7919);
      try {
        await walk.through(requestsOfEach, requestsInTurn);
        expect(walk.problems.slice(0, 8).join('\n\n')).toBe('');
      } finally {
        await walk.close();
        sent[kind] = (sent[kind] ?? 0) + walk.sent;
      }
    },
  );
});

afterAll(() => {
  if (process.env.GROUP_APPLICATIONS) console.log(sent);
  else for (const count of Object.values(sent)) expect(count).toBeGreaterThanOrEqual(applications * requestsOfEach);
});
