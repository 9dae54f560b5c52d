import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serveCommand } from './contestants.ts';
import { type Measurement, measure, requestFile } from './measure.ts';
import type { Options } from './options.ts';
import type { Start } from './rounds.ts';
import { residentMegabytes, startServer } from './server-process.ts';

const here = import.meta.dirname;
const amounts = [1, 200] as const;

/** Compares an application of two hundred APIs, each with its own model, with one of a single API. */
export async function measureManyApis(
  directory: string,
  options: Options,
): Promise<{ starts: Start[]; measurements: Measurement[] }> {
  const starts: Start[] = [];
  const measurements: Measurement[] = [];
  for (let round = 0; round <= options.rounds; round++) {
    for (const amount of amounts) {
      const contestant = `apis-${amount}`;
      const application = join(here, '.generated', contestant);
      if (round === 0) generate(application, amount);
      const server = await startServer({
        args: serveCommand(application, options),
        cwd: application,
        env: { DATABASE_URL: `sqlite:${join(directory, `${contestant}.db`)}` },
        probe: { path: '/api/thing1.json' },
        log: join(directory, `${contestant}.log`),
      });
      try {
        // the last API, whose route is found last if the order matters
        const file = requestFile(directory, contestant, [{ method: 'GET', path: `/api/thing${amount}/1.json` }]);
        // the first round creates the tables, and is not counted
        if (round === 0) continue;
        await measure(server, { contestant, work: 'E', file }, round, 1);
        measurements.push(await measure(server, { contestant, work: 'E', file }, round, options.seconds));
        starts.push({ contestant, round, boot: server.boot, memory: residentMegabytes(server.pid) });
      } finally {
        await server.stop();
      }
    }
  }
  return { starts, measurements };
}

function generate(application: string, amount: number): void {
  rmSync(application, { recursive: true, force: true });
  mkdirSync(join(application, 'config'), { recursive: true });
  mkdirSync(join(application, 'src', 'models'), { recursive: true });
  const write = (name: string, text: string) => writeFileSync(join(application, name), text);
  const numbers = Array.from({ length: amount }, (_, index) => index + 1);
  write('package.json', '{ "private": true, "type": "module" }\n');
  write('config/routes.yaml', "app_cruds:\n  resource: 'app_main_crud_route_loader:load'\n  type: service\n");
  write(
    'config/app.yaml',
    `app_main:\n  database: { url: '%env(DATABASE_URL)%' }\n  apis:\n${numbers
      .map((n) => `    thing${n}: { class: Thing${n}, base_path: /api/thing${n}, actions: { _index: ~, _entity: ~ } }\n`)
      .join('')}`,
  );
  for (const n of numbers) write(`src/models/thing${n}.ts`, modelText(n));
  write('src/seed.ts', seedText(numbers));
}

function modelText(n: number): string {
  return `import { defineEntity, p } from '@mikro-orm/core';

export const Thing${n} = defineEntity({
  name: 'Thing${n}',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    color: p.string().groups('read', 'write'),
    size: p.integer().groups('read', 'write'),
    made: p.date().groups('read', 'write'),
  },
});
`;
}

function seedText(numbers: readonly number[]): string {
  return `import type { EntityManager } from '@mikro-orm/core';
${numbers.map((n) => `import { Thing${n} } from './models/thing${n}.ts';`).join('\n')}

export default async function seed(em: EntityManager): Promise<void> {
  for (const Thing of [${numbers.map((n) => `Thing${n}`).join(', ')}]) {
    em.create(Thing, { name: 'thing', color: 'red', size: 3, made: '2026-01-01' });
  }
}
`;
}
