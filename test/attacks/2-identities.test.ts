import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { Authenticator, type User } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { forge, hmac } from './support/forge.ts';
import { useTarget } from './support/target.ts';

const secret = 'a secret of the bots that is long enough';
const exp = Math.floor(Date.now() / 1000) + 3600;

const Coin = defineEntity({
  name: 'Coin',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    owner: p.string().nullable().groups('read'),
  },
});

/** The users of a third kind. */
class BadgeAuthenticator extends Authenticator {
  override authenticate({ headers }: { headers: Record<string, unknown> }): User | null {
    return typeof headers['x-badge'] === 'string' ? { id: headers['x-badge'], roles: ['ROLE_USER'] } : null;
  }
}

const kinds: Record<string, Record<string, string>> = {
  'an API key': { 'x-api-key': 'bot-key-of-good-length' },
  'a token': { authorization: `Bearer ${forge({ alg: 'HS256' }, { sub: 'bot', roles: ['ROLE_USER'], exp }, hmac(secret))}` },
  'a badge': { 'x-badge': 'bot' },
};

describe.each(databases)('API2:2023 broken authentication: identities with the same name, on %s', (kind) => {
  const target = useTarget(kind, {
    app_main: {
      security: { jwt: { secret }, api_keys: { bot: { key: 'bot-key-of-good-length', roles: ['ROLE_USER'] } } },
      server: { rate_limit: { limit: 4, window: 3600 } },
      apis: {
        coin: {
          class: Coin,
          base_path: '/coin',
          base_role: 'ROLE_USER',
          actions: { _index: { methods: { GET: true, POST: true } } },
        },
      },
    } as never,
    models: [Coin],
    authenticators: [BadgeAuthenticator as never],
  });

  test('share neither stored responses nor rate limits (CWE-290, CWE-639)', async () => {
    const ids = new Set<number>();
    for (const headers of Object.values(kinds)) {
      const post = () =>
        target.send('POST', '/coin.json', { headers: { ...headers, 'idempotency-key': 'one' }, json: { name: 'x' } });
      const [first, second] = [await post(), await post()];
      expect([first.status, first.headers['idempotency-replayed']]).toEqual([201, undefined]);
      // the same caller does get the kept response
      expect([second.json.id, second.headers['idempotency-replayed']]).toEqual([first.json.id, 'true']);
      ids.add(first.json.id);
    }
    expect(ids.size).toBe(Object.keys(kinds).length);
    for (const headers of Object.values(kinds)) {
      const statuses = [];
      for (let i = 0; i < 3; i++) statuses.push((await target.send('GET', '/coin.json', { headers })).status);
      expect(statuses).toEqual([200, 200, 429]);
    }
  });
});
