import { afterAll, beforeAll, describe } from 'vitest';
import { describeRaces } from './pairs-races.ts';
import { describeRandom } from './pairs-random.ts';
import { Deployment } from './pairs-support.ts';

describe('SQLite with two processes', () => {
  let deployment: Deployment;

  beforeAll(async () => {
    deployment = await Deployment.start('sqlite', 2);
  });

  afterAll(() => deployment?.close());

  describeRaces(() => deployment, 1);
  describeRandom(() => deployment, 1);
});
