import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { type CodeOptions, createServer } from '../../src/index.ts';
import { smallApplication } from '../cli/applications.ts';
import { call } from '../cli/call.ts';

const Coin = defineEntity({ name: 'Coin', properties: { id: p.integer().primary().groups('read') } });

const options = (NODE_ENV: string | undefined): CodeOptions => ({
  app_main: { apis: { coin: { class: Coin, base_path: '/coin', actions: { _index: null } } } },
  models: [Coin],
  databaseUrl: 'sqlite::memory:',
  env: NODE_ENV === undefined ? {} : { NODE_ENV },
});

describe('API8:2023 security misconfiguration: unknown values of NODE_ENV (CWE-489, CWE-1188)', () => {
  test.each(['prod', 'Production', 'PRODUCTION', ' production', 'production ', 'staging', 'live', 'dev', '__proto__'])(
    'NODE_ENV=%j fails at startup',
    async (mode) => {
      await expect(createServer(options(mode))).rejects.toThrow(
        /^NODE_ENV: unknown mode ".*";.* use one of: development, test, production, or leave it unset for development$/,
      );
    },
  );

  test.each([
    ['production', 404],
    ['development', 200],
    ['test', 200],
    ['', 200],
    [undefined, 200],
  ])('NODE_ENV=%j returns %i for the docs page', async (mode, status) => {
    const app = await createServer(options(mode));
    expect((await app.inject('/docs')).statusCode).toBe(status);
    await app.close();
  });

  test.each([['serve', '--port', '0'], ['check'], ['token', '--sub', 'root', '--roles', 'ROLE_USER'], ['access']])(
    'declarest %s exits with an error',
    async (command, ...more) => {
      const { code, err, out } = await call([command, smallApplication(), ...more], { env: { NODE_ENV: 'Prod' } });
      expect([code, out]).toEqual([1, '']);
      expect(err).toContain('NODE_ENV: unknown mode "Prod"; did you mean "production"?');
    },
  );
});
