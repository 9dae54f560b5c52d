import { Agent } from 'node:http';
import { ask, type ListQuery, type Outcome, shown, tally } from '../load.ts';
import { both, type Row } from '../row.ts';
import { withServer } from '../with-server.ts';

/** Sends requests all at once, each on a connection of its own. */
async function atOnce(url: string, count: number, requestOf: (n: number) => ListQuery): Promise<Outcome[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: count });
  const outcomes = await Promise.all(Array.from({ length: count }, (_, n) => ask(url, requestOf(n), agent)));
  agent.destroy();
  return outcomes;
}

const jsonOf = async (url: string, path: string) => JSON.parse((await ask(url, { path })).body);

export const concurrencyRows: readonly Row[] = [
  {
    name: '50 parallel adds of one item',
    must: 'one row, no 5xx',
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, {}, async ({ url }, { query }) => {
        const rounds = surroundings.quick ? 5 : 200;
        const counts: Record<string, number> = {};
        let wrong = 0;
        for (let round = 0; round < rounds; round++) {
          const [path, table] = round % 2 ? ['/note', 'note'] : ['/thing', 'thing'];
          const id = (round % 200) + 1;
          const item = { id: (round % 20) + 1 };
          const outcomes = await atOnce(url, 50, () => ({ method: 'POST', path: `${path}/${id}/tags.json`, json: item }));
          for (const [status, count] of Object.entries(tally(outcomes))) counts[status] = (counts[status] ?? 0) + count;
          const rows = await query(`select 1 from ${table}_tags where ${table}_id = ${id} and tag_id = ${item.id}`);
          if (rows.length !== 1) wrong++;
        }
        return {
          seen: `${rounds} rounds: ${shown(counts)}; ${wrong} rounds without exactly one row`,
          pass: wrong === 0 && Object.keys(counts).join() === '200',
        };
      }),
  },
  {
    name: 'random add/remove/patch by 16 clients against a model',
    must: 'no divergence',
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, {}, async ({ url }) => {
        const operations = surroundings.quick ? 400 : 10_000;
        const counts: Record<string, number> = {};
        const names = new Map<string, string>();
        const links = new Map<string, Set<number>>();
        // all clients change the same few rows, each its own part of them, so that the expected result is known
        const run = async (client: number) => {
          for (let n = 0; n < operations / 16; n++) {
            const own = `${client < 8 ? '/thing' : '/note'}/${(client % 8) + 1}`;
            const any = `${Math.random() < 0.5 ? '/thing' : '/note'}/${1 + Math.floor(Math.random() * 8)}`;
            const isPatch = Math.random() < 0.3;
            const entity = isPatch ? own : any;
            const tag = client + 1;
            const request: ListQuery = isPatch
              ? { method: 'PATCH', path: `${own}.json`, json: { name: `${client} ${n}` } }
              : { method: Math.random() < 0.6 ? 'POST' : 'DELETE', path: `${any}/tags.json`, json: { id: tag } };
            const { status } = await ask(url, request);
            counts[`${request.method} ${status}`] = (counts[`${request.method} ${status}`] ?? 0) + 1;
            if (status !== 200) continue;
            const tags = links.get(entity) ?? new Set();
            links.set(entity, tags);
            if (request.method === 'POST') tags.add(tag);
            else if (request.method === 'DELETE') tags.delete(tag);
            else names.set(entity, (request.json as { name: string }).name);
          }
        };
        await Promise.all(Array.from({ length: 16 }, (_, client) => run(client)));
        let diverged = 0;
        for (const [entity, tags] of links) {
          const { name, tags: found } = await jsonOf(url, `${entity}.json`);
          const ids = found.map(({ id }: { id: number }) => id).sort((a: number, b: number) => a - b);
          if (ids.join() !== [...tags].sort((a, b) => a - b).join()) diverged++;
          if (names.has(entity) && name !== names.get(entity)) diverged++;
        }
        // a client that lost against another writer of a row with a version got 409, without an effect
        const isWell = Object.keys(counts).every((outcome) => / 200$/.test(outcome) || outcome === 'PATCH 409');
        return { seen: `${shown(counts)}; ${diverged} of ${links.size} rows diverged`, pass: diverged === 0 && isWell };
      }),
  },
  {
    name: '100 stale PATCHes with If-Match',
    must: 'one success, 99 × 412',
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, {}, async ({ url }) => {
        const rounds = surroundings.quick ? 1 : 20;
        const seen = new Set<string>();
        for (let id = 1; id <= rounds; id++) {
          const { etag = '' } = (await ask(url, { path: `/note/${id}.json` })).headers;
          const outcomes = await atOnce(url, 100, (n) => ({
            method: 'PATCH',
            path: `/note/${id}.json`,
            json: { name: `writer ${n}` },
            headers: { 'if-match': etag },
          }));
          seen.add(shown(tally(outcomes)));
        }
        return { seen: `${rounds} rounds: ${[...seen].join('; ')}`, pass: [...seen].join() === '1 × 200, 99 × 412' };
      }),
  },
  {
    name: 'the same without If-Match',
    must: 'no silent lost update',
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, {}, async ({ url }) => {
        const rounds = surroundings.quick ? 1 : 20;
        const counts: Record<string, number> = {};
        let lost = 0;
        for (let id = 1; id <= rounds; id++) {
          const before = await jsonOf(url, `/note/${id}.json`);
          const outcomes = await atOnce(url, 100, (n) => ({
            method: 'PATCH',
            path: `/note/${id}.json`,
            json: { name: `writer ${n}` },
          }));
          const after = await jsonOf(url, `/note/${id}.json`);
          const updates = outcomes.filter(({ status }) => status === 200).map(({ body }) => JSON.parse(body));
          for (const [status, count] of Object.entries(tally(outcomes))) counts[status] = (counts[status] ?? 0) + count;
          // each successful response has its own version, and the row has the last of these
          const versions = new Set(updates.map(({ version }) => version));
          const last = updates.find(({ version }) => version === after.version);
          if (versions.size !== updates.length || after.version - before.version !== updates.length || last?.name !== after.name)
            lost++;
        }
        return {
          seen: `${rounds} rounds: ${shown(counts)}; ${lost} with a lost update`,
          pass: lost === 0 && Object.keys(counts).every((status) => status === '200' || status === '409'),
        };
      }),
  },
];
