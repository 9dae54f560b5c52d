import { afterAll, beforeAll, describe } from 'vitest';
import { describeRaces } from './pairs-races.ts';
import { describeRandom } from './pairs-random.ts';
import { Deployment } from './pairs-support.ts';

describe('PostgreSQL with two processes', () => {
  let deployment: Deployment;

  beforeAll(async () => {
    deployment = await Deployment.start('postgresql', 2);
  });

  afterAll(() => deployment?.close());

  describeRaces(() => deployment, 2);
  describeRandom(() => deployment, 2);
});
