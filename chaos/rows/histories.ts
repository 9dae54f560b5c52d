import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random, seed } from '../../test/support/random.ts';
import { writeApplication } from '../application.ts';
import { freshDatabase } from '../database.ts';
import { ask, type ListQuery, type Outcome, shown } from '../load.ts';
import type { Row } from '../row.ts';
import { hasSerialOrder, type Operation } from '../serial-order.ts';
import { type ServedApplication, serve } from '../server.ts';

const processes = 2;
const clientCount = 16;
/** Few rows and tags, so that many requests meet. */
const things = 4;
const tags = 3;

/** What the clients saw of each name and of each link, which are independent of one another. */
class Histories {
  readonly counts: Record<string, number> = {};
  readonly #names = new Map<number, Operation<string>[]>();
  readonly #links = new Map<string, Operation<boolean>[]>();

  add(thing: number, { json, method }: ListQuery, { body, status }: Outcome, start: number): void {
    const end = performance.now();
    const of = `${method} ${status}`;
    this.counts[of] = (this.counts[of] ?? 0) + 1;
    // a rejected request has no effect
    const isOpen = status === 'lost';
    if (status !== 200 && !isOpen) return;
    const { id: item, name } = json as { id: number; name: string };
    if (method === 'PATCH') this.#name(thing, { kind: 'write', value: name, start, end, isOpen });
    else if (method !== 'GET') this.#link(thing, item, { kind: 'write', value: method === 'POST', start, end, isOpen });
    if (isOpen || method === 'POST' || method === 'DELETE') return;
    const seen = JSON.parse(body) as { name: string; tags: { id: number }[] };
    this.#name(thing, { kind: 'read', value: seen.name, start, end });
    for (let tag = 1; tag <= tags; tag++) {
      this.#link(thing, tag, { kind: 'read', value: seen.tags.some(({ id }) => id === tag), start, end });
    }
  }

  /** The names and links whose last state, or a response, fits no serial order. */
  faults(names: ReadonlyMap<number, string>, links: ReadonlySet<string>): string[] {
    const wrongNames = [...this.#names].filter(
      ([thing, operations]) => !hasSerialOrder(operations, `thing ${thing}`, names.get(thing)),
    );
    const wrongLinks = [...this.#links].filter(([link, operations]) => !hasSerialOrder(operations, false, links.has(link)));
    return [...wrongNames.map(([thing]) => `name of thing ${thing}`), ...wrongLinks.map(([link]) => `link ${link}`)];
  }

  #name(thing: number, operation: Operation<string>): void {
    this.#names.set(thing, [...(this.#names.get(thing) ?? []), operation]);
  }

  #link(thing: number, tag: number, operation: Operation<boolean>): void {
    const link = `${thing} ${tag}`;
    this.#links.set(link, [...(this.#links.get(link) ?? []), operation]);
  }
}

/** One client, which sends each request to one of the processes. */
async function client(
  number: number,
  servers: readonly ServedApplication[],
  histories: Histories,
  isOver: () => boolean,
): Promise<void> {
  const random = new Random(seed + number);
  for (let n = 0; !isOver(); n++) {
    const thing = 1 + random.below(things);
    const id = 1 + random.below(tags);
    const path = `/thing/${thing}.json`;
    const link = `/thing/${thing}/tags.json`;
    const request = random.of<ListQuery>([
      { method: 'GET', path },
      { method: 'PATCH', path, json: { name: `client ${number} request ${n}` } },
      { method: 'POST', path: link, json: { id } },
      { method: 'DELETE', path: link, json: { id } },
    ]);
    const start = performance.now();
    const outcome = await ask(random.of(servers).url, request);
    histories.add(thing, { ...request, json: request.json ?? {} }, outcome, start);
    if (outcome.status === 'refused') await sleep(50);
  }
}

/** Another program that writes to the same file. */
async function foreignWriter(file: string, isOver: () => boolean, nextHold: () => number): Promise<void> {
  const db = new DatabaseSync(file, { timeout: 0 });
  while (!isOver()) {
    await sleep(Math.random() * 100);
    try {
      db.exec('begin immediate; update thing set name = name');
    } catch {
      continue;
    }
    await sleep(nextHold());
    db.exec(Math.random() < 0.5 ? 'commit' : 'rollback');
  }
  db.close();
}

export const historyRows: readonly Row[] = [
  {
    name: 'random requests to two processes on one file, with kill -9 and a foreign writer',
    must: 'all responses and the last rows fit a serial order',
    kinds: ['sqlite'],
    async run(surroundings) {
      const kills = surroundings.quick ? 1 : 40;
      const database = await freshDatabase(surroundings);
      const directory = writeApplication(surroundings.root, database.url);
      const servers: ServedApplication[] = [];
      for (let i = 0; i < processes; i++) servers.push(await serve(directory));
      const histories = new Histories();
      let isOver = false;
      let isLong = false;
      const nextHold = () => {
        const hold = isLong ? 7000 : Math.random() * 60;
        isLong = false;
        return hold;
      };
      const clients = Array.from({ length: clientCount }, (_, number) => client(number, servers, histories, () => isOver));
      const writer = foreignWriter(database.url.slice('sqlite:'.length), () => isOver, nextHold);
      try {
        for (let i = 0; i < kills; i++) {
          await sleep(300 + Math.random() * 300);
          // once in the long form, the lock is held for longer than Declarest waits
          isLong = i === 20;
          if (isLong) await sleep(8000);
          const place = i % processes;
          await servers[place]?.end('SIGKILL');
          servers[place] = await serve(directory);
        }
        await sleep(300);
        isOver = true;
        await Promise.all([...clients, writer]);
      } finally {
        isOver = true;
        for (const server of servers) await server.end('SIGKILL');
      }
      const rows = await database.query(`select id, name from thing where id <= ${things}`);
      const links = await database.query(`select thing_id || ' ' || tag_id as link from thing_tags where thing_id <= ${things}`);
      const faults = histories.faults(
        new Map(rows.map(({ id, name }) => [Number(id), String(name)])),
        new Set(links.map(({ link }) => String(link))),
      );
      const isExpected = Object.keys(histories.counts).every((of) => /(200|503|lost|refused)$/.test(of));
      return {
        seen: `seed ${seed}, ${kills} kills: ${shown(histories.counts)}; without a serial order: ${faults.join(', ') || 'none'}`,
        pass: faults.length === 0 && isExpected,
      };
    },
  },
];
