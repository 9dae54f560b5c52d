import { afterAll, beforeAll, describe } from 'vitest';
import { describeRaces } from './pairs-races.ts';
import { describeRandom } from './pairs-random.ts';
import { Deployment } from './pairs-support.ts';

describe('SQLite with one process', () => {
  let deployment: Deployment;

  beforeAll(async () => {
    deployment = await Deployment.start('sqlite', 1);
  });

  afterAll(() => deployment?.close());

  describeRaces(() => deployment, 0);
  describeRandom(() => deployment, 0);
});
