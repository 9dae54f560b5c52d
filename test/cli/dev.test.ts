import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { personYaml, smallApplication, write, writeFiles } from './applications.ts';
import { call, testIo } from './call.ts';
import { migratedApplication, modelFiles } from './migrated-application.ts';
import { addressOf, run, start } from './spawned.ts';

const elsewhere = personYaml.replace('/api/person', '/api/people');

async function isGone(url: string): Promise<boolean> {
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      await fetch(url);
    } catch {
      return true;
    }
    await sleep(50);
  }
  return false;
}

describe('declarest dev', () => {
  test('serves the current files, survives a broken edit and leaves nothing behind', async () => {
    const application = smallApplication();
    const dev = start(['dev', application, '--port', '0']);
    const url = await addressOf(dev);
    const statuses = async () =>
      Promise.all(['person', 'people'].map(async (name) => (await fetch(`${url}/api/${name}.json`)).status));
    expect(await statuses()).toEqual([200, 404]);
    expect((await fetch(`${url}/api/person.json`)).headers.get('server-timing')).toContain('query;dur=');

    let mark = dev.mark();
    write(application, 'config/app_main.yaml', elsewhere);
    expect(await addressOf(dev, mark)).toBe(url);
    expect(dev.printed.err).toContain('changed: config/app_main.yaml; starting again\n');
    expect(await statuses()).toEqual([404, 200]);

    mark = dev.mark();
    write(application, 'config/app_main.yaml', elsewhere.replace('class: Person', 'class: Persn'));
    await dev.until(/waiting for a change in config\/, src\/ or migrations\//, mark);
    expect(dev.printed.err.slice(mark.err)).toMatch(/^config\/app_main\.yaml:4:14: .*"Persn".*\n1 error\n/m);
    expect(await isGone(url)).toBe(true);

    mark = dev.mark();
    write(application, 'config/app_main.yaml', personYaml);
    expect(await addressOf(dev, mark)).toBe(url);
    expect(await statuses()).toEqual([200, 404]);

    mark = dev.mark();
    write(application, 'var/notes.txt', 'data');
    write(application, 'node_modules/x/index.js', 'a package');
    await sleep(400);
    expect(dev.mark()).toEqual(mark);

    dev.child.kill('SIGINT');
    // The server writes to the same pipes, so they close once neither process is left.
    expect(await dev.ended).toMatchObject({ code: 0, signal: null });
    expect(await isGone(url)).toBe(true);
  });

  test('listens on PORT of the environment, and rejects an invalid one', async () => {
    const dev = start(['dev', smallApplication()], { env: { PORT: '0' } });
    expect((await fetch(`${await addressOf(dev)}/api/person.json`)).status).toBe(200);
    dev.child.kill('SIGINT');
    expect(await dev.ended).toMatchObject({ code: 0 });
    expect(await call(['dev', smallApplication()], { env: { PORT: 'x' } })).toMatchObject({
      code: 2,
      err: expect.stringContaining('the environment variable PORT must be'),
    });
  });

  test('ends its server even if it is killed itself', async () => {
    const dev = start(['dev', smallApplication(), '--port', '0']);
    const url = await addressOf(dev);
    dev.child.kill('SIGKILL');
    expect(await isGone(url)).toBe(true);
    expect(await dev.ended).toMatchObject({ signal: 'SIGKILL' });
  });

  test('reloads code, and waits for a change if the first start fails', async () => {
    const service = (text: string) =>
      `export const own = { load: () => [{ name: 'own', path: '/own.{_format}', methods: ['GET'], handler: () => ({ said: ${text} }) }] };\n`;
    const routes = `app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }\nown: { resource: 'own:load', type: service }\n`;
    const application = smallApplication({ 'config/routes.yaml': routes, 'src/services/own.ts': 'export const own = ;\n' });
    const io = testIo({ env: process.env });
    const ended = main(['dev', application, '--port', '0', '--host', '127.0.0.1'], io);
    await io.until(/the server ended with exit code 1; waiting for a change/);
    write(application, 'src/services/own.ts', service("'one'"));
    const [, url] = await io.until(/^listening on (.*)$/m);
    expect(await (await fetch(`${url}/own.json`)).json()).toEqual({ said: 'one' });
    write(application, 'src/services/own.ts', service("'two'"));
    await io.until(/listening on .*\n(.*\n)*listening on /);
    expect(await (await fetch(`${url}/own.json`)).json()).toEqual({ said: 'two' });
    io.stop();
    expect(await ended).toBe(0);
    expect(await isGone(url as string)).toBe(true);
  });

  test('offers to write a migration, and applies it', async () => {
    const application = migratedApplication("name: p.string().groups('read')", { url: 'sqlite:var/app.db', schema: 'migrate' });
    await call(['migrate', 'create', application]);
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return 'y';
    };
    const io = testIo({ env: process.env });
    const ended = main(['dev', application, '--port', '0'], { ...io, ask });
    await io.until(/listening on (\S+)/);
    const properties = "name: p.string().groups('read'), age: p.integer().nullable().groups('read')";
    const database = { url: 'sqlite:var/app.db', schema: 'migrate' };
    write(application, 'src/models/person.ts', modelFiles(properties, database)['src/models/person.ts'] as string);
    await io.until(/models and migrations differ; write a migration: declarest migrate create/);
    await io.until(/applied Migration\d+_initial (.*\n)*applied Migration\d+ /);
    await io.until(/listening on .*\n(.*\n)*listening on /);
    expect(asked).toEqual(['write the migration now? [y/N] ']);
    io.stop();
    expect(await ended).toBe(0);
  });

  test('exits immediately if the arguments are wrong', async () => {
    expect((await call(['dev', 'no-such'])).code).toBe(2);
    expect((await call(['dev', writeFiles({})])).code).toBe(1);
    const wrongLevel = await run(['dev', smallApplication(), '--port=0'], { env: { LOG_LEVEL: 'loud' } });
    expect(wrongLevel).toMatchObject({ code: 2, out: '' });
    expect(wrongLevel.err).toMatch(/LOG_LEVEL is "loud"/);
  });
});
