import { afterAll, beforeAll, describe } from 'vitest';
import { describeRaces } from './pairs-races.ts';
import { describeRandom } from './pairs-random.ts';
import { Deployment } from './pairs-support.ts';

describe('SQLite with two processes', () => {
  let deployment: Deployment;

  beforeAll(async () => {
    deployment = await Deployment.start('sqlite', 2);
  }, 60_000);

  afterAll(() => deployment?.close(), 30_000);

  describeRaces(() => deployment);
  describeRandom(() => deployment);
});
