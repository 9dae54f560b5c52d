import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { defineEntity, p } from '@mikro-orm/core';
import { ApiController, type ApiRequest, type CodeOptions } from '../../src/index.ts';
import { type DatabaseKind, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

export const Thing = defineEntity({
  name: 'Thing',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    data: p.json().nullable().groups('read', 'write'),
  },
});

/** What a request to `/slow/work.json` waits for, and how many do. */
export const gate = { opened: Promise.resolve(), asked: 0 };

export class SlowController extends ApiController {
  async workApi(request: ApiRequest) {
    gate.asked++;
    await gate.opened;
    return { done: true, ip: request.ip };
  }

  /** Keeps a connection of the mapper's pool until the gate is opened. */
  async holdApi() {
    await this.em.transactional(async (em) => {
      await em.execute('select 1');
      gate.asked++;
      await gate.opened;
    });
    return { done: true };
  }
}

export type AppMain = CodeOptions['app_main'];

export function thingOptions(server: AppMain['server'] = {}, more: Partial<AppMain> = {}): CodeOptions {
  const all = { GET: true, HEAD: true, POST: true };
  return {
    app_main: {
      apis: {
        thing: {
          class: Thing,
          base_path: '/thing',
          actions: { _index: { methods: all }, _entity: { methods: { ...all, POST: false, PATCH: true } } },
        },
        slow: {
          class: Thing,
          base_path: '/slow',
          controller: SlowController,
          actions: {
            work: { 'single-collection': 'collection', methods: { GET: true, POST: true } },
            hold: { 'single-collection': 'collection', methods: { GET: true } },
          },
        },
      },
      ...more,
      server,
    },
    models: [Thing],
    controllers: [SlowController],
    seed: (em) => {
      for (let id = 1; id <= 5; id++) em.create(Thing, { name: `thing ${id}`, data: null });
    },
  };
}

/** Runs an application on a new database for as long as `use` takes. */
export async function withThings(
  kind: DatabaseKind,
  options: CodeOptions,
  use: (application: TestApplication) => Promise<void>,
): Promise<void> {
  const database = await freshDatabase(kind);
  const { database: settings, ...rest } = options.app_main;
  const application = await startApplication({
    ...options,
    app_main: { ...rest, database: { ...settings, url: database.url, schema: 'update' } },
  });
  try {
    await use(application);
  } finally {
    await application.close();
    await database.drop();
  }
}

/** Closes the gate until the function that it returns is called. */
export function closeGate(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  gate.opened = promise;
  gate.asked = 0;
  return resolve;
}

/** A connection of its own, and all that comes on it. */
export async function rawConnection(url: string): Promise<{ socket: Socket; received: () => string; closed: Promise<unknown> }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  return { socket, received: () => text, closed };
}

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}
