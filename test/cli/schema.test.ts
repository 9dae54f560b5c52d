// @module-tag divided
import { describe, expect, onTestFinished, test } from 'vitest';
import { databases, freshDatabase } from '../support/databases.ts';
import { rowsOf } from '../support/sql.ts';
import { smallApplication, write } from './applications.ts';
import { addressOf, run, start } from './spawned.ts';

const remedy = 'run "declarest migrate create" and "declarest migrate up", or set app_main.database.schema to update';
const missing = `Person: the table person does not exist; ${remedy}\n1 difference between the models and the database `;

const model = (properties: string) => `
import { defineEntity, p } from '@mikro-orm/core';
export const Person = defineEntity({
  name: 'Person',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write'), ${properties} },
});
`;

describe.each(databases)('declarest serve on %s', (kind) => {
  const prepared = async (schema: string | null, more: Record<string, string> = {}) => {
    const database = await freshDatabase(kind);
    onTestFinished(() => database.drop());
    const config = `app_main: { database: { url: '${database.url}'${schema === null ? '' : `, schema: ${schema}`} } }`;
    return { database, directory: smallApplication({ 'config/database.yaml': config, ...more }) };
  };
  const column = kind === 'sqlite' ? 'text' : 'varchar(255)';

  test('does not start on an empty database in production, and prints the remedy', async () => {
    const { directory } = await prepared(null);
    const jwt = { JWT: 'x'.repeat(32) };
    write(directory, 'config/security.yaml', "app_main: { security: { jwt: { secret: '%env(JWT)%' } } }");
    const ended = await run(['serve', directory, '--port', '0'], { env: { NODE_ENV: 'production', ...jwt } });
    expect([ended.code, ended.out]).toEqual([1, '']);
    expect(ended.err.startsWith(missing)).toBe(true);
    const several = await run(['serve', directory, '--port', '0', '--workers', '2'], { env: { NODE_ENV: 'production', ...jwt } });
    expect([several.code, several.out, several.err]).toEqual([1, '', ended.err]);
  });

  test('prints every statement of an update once, even with workers, and nothing if up to date', async () => {
    const { database, directory } = await prepared('update', {
      'src/models/person.ts': model("state: p.string().default('new').index().groups('read')"),
    });
    await rowsOf(
      kind,
      database.url,
      `create table person (id ${kind === 'sqlite' ? 'integer' : 'serial'} primary key, name ${column} not null)`,
    );
    for (const expected of [2, 0]) {
      const server = start(['serve', directory, '--port', '0', '--workers', '2']);
      await addressOf(server);
      server.child.kill('SIGTERM');
      await server.ended;
      const lines = server.printed.err.split('\n').filter((line) => line.startsWith('schema: '));
      expect(lines).toHaveLength(expected);
      if (expected === 0) continue;
      expect(lines[0]).toMatch(/^schema: alter table .person. add (?:column )?.state. .*default 'new'/);
      expect(lines[1]).toMatch(/^schema: create index .person_state_index. on .person. \(.state.\);$/);
    }
  });

  test('names ways to add a required association to a table with rows, and the last one works', async () => {
    const withTeam = (team: string) => `
import { defineEntity, p } from '@mikro-orm/core';
export const Team = defineEntity({ name: 'Team', properties: { id: p.integer().primary() } });
export const Person = defineEntity({
  name: 'Person',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write')${team} },
});
`;
    const { database, directory } = await prepared('update', { 'src/models/person.ts': withTeam('') });
    const starts = async () => {
      const server = start(['serve', directory, '--port', '0']);
      await addressOf(server);
      server.child.kill('SIGTERM');
      await server.ended;
    };
    await starts();
    await rowsOf(kind, database.url, "insert into person (name) values ('Ada')");
    write(directory, 'src/models/person.ts', withTeam(', team: () => p.manyToOne(Team)'));
    const refused = await run(['serve', directory, '--port', '0']);
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toContain('Person.team: the table person has no column team_id; ');
    const discard = kind === 'sqlite' ? `delete the files ${database.url.slice('sqlite:'.length)}*` : 'use an empty database';
    expect(refused.err).toContain(`- discard all data, for example in development: ${discard}, then start again\n`);
    expect(refused.err).not.toContain('migrate');

    write(directory, 'src/models/person.ts', withTeam(', team: () => p.manyToOne(Team).nullable()'));
    await starts();
    await rowsOf(kind, database.url, 'insert into team (id) values (1)');
    await rowsOf(kind, database.url, 'update person set team_id = 1');
    write(directory, 'src/models/person.ts', withTeam(', team: () => p.manyToOne(Team)'));
    await starts();
  });

  test('logs the differences and serves with the schema none', async () => {
    const { directory } = await prepared('none');
    const server = start(['serve', directory, '--port', '0']);
    const [line] = await server.until(/^\{.*does not match the models.*\}$/m);
    expect(JSON.parse(line).differences).toEqual(['Person: the table person does not exist']);
    expect(line).not.toMatch(/declarest migrate|schema: update/);
    const url = await addressOf(server);
    const statusOf = async (path: string) => (await fetch(url + path)).status;
    expect(await statusOf('/health/ready')).toBe(200);
    expect(await statusOf('/api/person.json')).toBe(503);
    expect(await statusOf('/health/ready')).toBe(503);
    server.child.kill('SIGTERM');
    await server.ended;
  });

  // watching is the same on every database
  if (kind === 'sqlite') {
    test('under declarest dev shows the differences, and starts once the database is changed', async () => {
      const { database, directory } = await prepared('check');
      const dev = start(['dev', directory, '--port', '0']);
      await dev.until(/waiting for a change of the database, or in config\/ or src\//);
      expect(dev.printed.err.startsWith(missing)).toBe(true);
      await rowsOf(
        kind,
        database.url,
        `create table person (id ${kind === 'sqlite' ? 'integer' : 'serial'} primary key, name ${column} not null)`,
      );
      const url = await addressOf(dev);
      expect((await fetch(`${url}/api/person.json`)).status).toBe(200);

      const mark = dev.mark();
      write(directory, 'src/models/person.ts', model('age: p.integer()'));
      await dev.until(/waiting for a change of the database/, mark);
      expect(dev.printed.err.slice(mark.err)).toContain('Person.age: the table person has no column age; needed: ');
      write(directory, 'src/models/person.ts', model(''));
      expect(await addressOf(dev, mark)).toBe(url);
      dev.child.kill('SIGINT');
      expect((await dev.ended).code).toBe(0);
    });
  }
});
