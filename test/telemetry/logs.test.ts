import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { signToken } from '../../src/access/sign-token.ts';
import { ApiController, type ApiRequest, type CodeOptions } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { closeGate, gate, Thing, thingOptions, until } from '../traffic/things.ts';
import { withLog } from './watched.ts';

/** Every one of these would be a catastrophe in a log. */
const secrets = {
  apiKey: 'live-4f6a"1c\\8e77',
  jwtSecret: 'a-secret-for-tokens-that-is-long-enough',
  cookie: 'c00k1e-of-somebody',
  queryToken: 'qu3ry-t0ken',
  body: 'b0dy-of-a-request',
  stored: 'st0red-value',
  password: 'p4ssw0rd-of-the-database',
  signature: 's1gnature-of-a-link',
  session: 'tab-7-of-somebody',
};

class LeakController extends ApiController {
  async leakApi(request: ApiRequest) {
    const { headers } = request;
    switch ((request.query as { how?: string }).how) {
      case 'headers':
        request.log.info({ headers, req: request }, 'seen');
        request.log.warn(`got ${JSON.stringify(headers)}`);
        request.log.error({ deep: { er: { config: { headers, text: JSON.stringify({ inner: JSON.stringify(headers) }) } } } });
        return { done: true };
      case 'address':
        throw new Error(`cannot connect to postgres://me:${secrets.password}@db.example.org/x?sslmode=on`);
      case 'own':
        throw Object.assign(new Error(`refused ${headers['x-api-key']}, "${headers.authorization}"`), {
          response: { config: { headers } },
          parameters: [secrets.stored],
        });
      case 'unique':
        await this.em.execute('insert into thing (id, name) values (1, ?)', [secrets.stored]);
        break;
      case 'twice':
        await this.em.execute('create unique index if not exists only_once on thing (name)');
        try {
          await this.em.execute('insert into thing (id, name) values (100, ?), (101, ?)', [secrets.stored, secrets.stored]);
        } catch (error) {
          request.log.error(error);
          request.log.error({ err: error, id: 7 });
          request.log.error({ err: error }, 'it was there already');
          throw new Error('it failed', { cause: new AggregateError([error, error], 'twice') });
        }
        break;
      case 'syntax':
        await this.em.execute(`select cast(? as integer) from nothing_of_the_kind`, [secrets.stored]);
        break;
      case 'drop':
        await this.em.execute('alter table thing drop column name');
        return { done: true };
      case 'cast':
        await this.em.execute(`select cast(? as integer)`, [secrets.stored]);
        return { done: true };
    }
    throw { message: 'no error at all', password: secrets.password };
  }
}

const base = thingOptions({ log: { level: 'info', redact: ['x-tab'] } });
const options: CodeOptions = {
  ...base,
  app_main: {
    ...base.app_main,
    apis: {
      ...base.app_main.apis,
      leak: {
        class: Thing,
        base_path: '/leak',
        controller: LeakController,
        actions: { leak: { 'single-collection': 'collection', methods: { GET: true, POST: true } } },
      },
    },
    formats: ['json', 'csv'],
    security: {
      jwt: { secret: secrets.jwtSecret },
      api_keys: { robot: { key: secrets.apiKey } },
    },
  },
  controllers: [...(base.controllers ?? []), LeakController],
};

async function token(): Promise<string> {
  const declaration = { algorithm: 'HS256', issuer: null, audience: null };
  return signToken({ secret: secrets.jwtSecret, declaration, sub: 'ada', roles: [] });
}

describe.each(databases)('the log on %s', (database) => {
  test('has a line for each request, with its route, status, time, id and user', async () => {
    await withLog(database, options, {}, async ({ url, lineOf, lines }) => {
      const ask = async (path: string, init: RequestInit & { id: string }) => {
        const headers = { 'x-request-id': init.id, ...init.headers };
        await (await fetch(`${url}${path}`, { ...init, headers })).text();
        return lineOf(init.id);
      };
      expect(await ask('/thing/1.json?x=1', { id: 'a' })).toMatchObject({ status: 400 });
      expect(await ask('/thing/1.json', { id: 'b', headers: { 'x-api-key': secrets.apiKey } })).toEqual({
        level: 30,
        time: expect.any(Number),
        pid: process.pid,
        hostname: expect.any(String),
        request_id: 'b',
        method: 'GET',
        route: '/thing/{id}.{_format}',
        path: '/thing/1.json',
        status: 200,
        ms: expect.any(Number),
        user: 'robot',
        msg: 'request',
      });
      const rows: [string, RequestInit, Record<string, unknown>][] = [
        ['/thing.csv', {}, { route: '/thing.{_format}', status: 200, path: '/thing.csv' }],
        ['/thing/1.json', { method: 'HEAD' }, { method: 'HEAD', status: 200 }],
        ['/thing/9999.json', {}, { route: '/thing/{id}.{_format}', status: 404 }],
        ['/nowhere/7', {}, { route: '(unknown)', status: 404, path: '/nowhere/7' }],
        ['/thing/%zz.json', {}, { route: '(unknown)', status: 404 }],
        ['/thing.json', { method: 'DELETE' }, { status: 405 }],
        ['/thing/1.json', { headers: { 'x-api-key': 'wrong' } }, { status: 401 }],
        ['/leak/leak.json?how=address', {}, { status: 500, route: '/leak/leak.{_format}' }],
      ];
      for (const [index, [path, init, expected]] of rows.entries()) {
        const line = await ask(path, { ...init, id: `row-${index}` });
        expect(line).toMatchObject(expected);
        expect(line).not.toHaveProperty('user');
      }
      // one line each, and an error of ours has one more, under the same id
      const row7 = lines().filter(({ request_id }) => request_id === 'row-7');
      expect(row7.map(({ msg }) => msg)).toEqual(['an internal error occurred; it has been logged', 'request']);
      expect(row7[0]).toMatchObject({ level: 50, err: { type: 'Error', stack: expect.stringContaining('leakApi') } });
      // health is asked for all the time
      await (await fetch(`${url}/health/live`, { headers: { 'x-request-id': 'health' } })).text();
      const open = closeGate();
      const gone = new AbortController();
      const left = fetch(`${url}/slow/work.json`, { signal: gone.signal, headers: { 'x-request-id': 'left' } });
      await until(() => gate.asked === 1);
      gone.abort();
      await expect(left).rejects.toThrow('aborted');
      expect(await lineOf('left')).toMatchObject({ route: '/slow/work.{_format}', aborted: true });
      open();
      expect(lines().some(({ request_id }) => request_id === 'health')).toBe(false);
    });
  });

  test('names a schema difference once, without a stack, however many requests fail', async () => {
    await withLog(database, options, {}, async ({ url, lines }) => {
      const headers = { 'x-api-key': secrets.apiKey };
      expect((await fetch(`${url}/leak/leak.json?how=drop`, { headers })).status).toBe(200);
      for (let i = 0; i < 3; i++) expect((await fetch(`${url}/thing.json`, { headers })).status).toBe(503);
      await sleep(20);
      const errors = lines().filter(({ level }) => level === 50);
      const differences = [
        expect.stringMatching(/^Thing\.name: the table thing has no column name; needed: [\w()]+( not null)?$/),
      ];
      expect(errors).toMatchObject([
        {
          differences,
          msg: 'the database does not match the models of this process. If a newer version has migrated the database, replace this process; otherwise migrate the database',
        },
        {
          differences,
          cause: expect.stringMatching(/name/),
          request_id: expect.any(String),
          msg: 'the database schema does not match the models; retry later',
        },
      ]);
      expect(JSON.stringify(errors)).not.toMatch(/"stack"|declarest migrate/);
    });
  });

  test('contains no secret, whatever its source or writer', async () => {
    await withLog(database, options, { level: 'trace' }, async ({ url, text, lineOf }) => {
      const jwt = await token();
      const ask = async (path: string, init: RequestInit = {}) => {
        const separator = path.includes('?') ? '&' : '?';
        const parameters = `access_token=${secrets.queryToken}&signature=${secrets.signature}&name=${secrets.stored}`;
        const answer = await fetch(`${url}${path}${separator}${parameters}`, {
          ...init,
          headers: { cookie: `sid=${secrets.cookie}`, 'x-tab': secrets.session, ...init.headers },
        });
        await answer.text();
        await lineOf(answer.headers.get('x-request-id') as string);
        return answer.status;
      };
      for (const headers of [{ authorization: `Bearer ${jwt}` }, { 'x-api-key': secrets.apiKey }]) {
        for (const how of ['headers', 'address', 'own', 'unique', 'twice', 'syntax', 'cast', 'object']) {
          const status = await ask(`/leak/leak.json?how=${how}`, { headers });
          expect([how, status]).toEqual([
            how,
            how === 'headers' || (how === 'cast' && database === 'sqlite') ? 200 : expect.any(Number),
          ]);
        }
        await ask('/thing.json', {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify({ name: secrets.body, id: secrets.body, nothing: secrets.body }),
        });
        await ask('/thing.json', {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: `{${secrets.body}`,
        });
        await ask('/thing/1.json', { headers });
      }
      await ask('/thing/1.json', { headers: { authorization: `Bearer ${jwt}x` } });
      await ask('/thing/1.json', { headers: { authorization: `ApiKey ${secrets.apiKey}` } });
      await ask('/thing/1.json', { headers: { 'x-api-key': `${secrets.apiKey}x` } });
      await sleep(20);
      const log = text();
      expect(log.length).toBeGreaterThan(10_000);
      const shapes = Object.entries({ ...secrets, jwt, payload: jwt.split('.')[1] as string });
      for (const [name, secret] of shapes) {
        for (const shape of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]) {
          const at = log.indexOf(shape);
          expect([name, at === -1 ? '' : log.slice(Math.max(at - 200, 0), at + 100)]).toEqual([name, '']);
        }
      }
      // what is needed to find a fault is still there
      expect(log).toContain('db.example.org');
      expect(log).toMatch(database === 'sqlite' ? /UNIQUE constraint failed: thing\.name/ : /"constraint":"only_once"/);
      expect(log).toContain('at LeakController.leakApi');
      expect(log).toContain('[redacted]');
      expect(
        log.match(/"msg":"(UNIQUE constraint failed: thing\.name|duplicate key value violates .*?only_once\\"")/g),
      ).toHaveLength(4);
    });
  });
});

test('requests are logged at info; LOG_LEVEL and server options override the declaration', async () => {
  await withLog('sqlite', options, { level: 'warn' }, async ({ url, text }) => {
    await (await fetch(`${url}/thing/1.json`)).text();
    await sleep(20);
    expect(text()).toBe('');
  });
});
