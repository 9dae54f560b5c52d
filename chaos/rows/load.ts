import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { leftOpen } from '../database.ts';
import { ask, atRate, clients, type ListQuery, percentile, shown, tally } from '../load.ts';
import { allowed, both, type Row } from '../row.ts';
import { mixed, withServer } from '../with-server.ts';

export const loadRows: readonly Row[] = [
  {
    name: 'pool of one, busy',
    must: '404, 405, 401 and health still answer at once',
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, { database: { pool: 1 } }, async ({ url }) => {
        const held = ask(url, { path: '/thing/hold.json?wait=1500' });
        await sleep(300);
        const requests: ListQuery[] = [
          { path: '/nothing.json' },
          { method: 'PUT', path: '/thing.json' },
          { path: '/guarded.json' },
          { path: '/health/live' },
          { path: '/health/ready' },
        ];
        const outcomes = await Promise.all(requests.map((one) => ask(url, one)));
        const statuses = outcomes.map(({ status }) => status).join(' ');
        const slowest = Math.max(...outcomes.map(({ took }) => took));
        const { took } = await held;
        return {
          seen: `${statuses} within ${Math.round(slowest)} ms, while one held it for ${Math.round(took)} ms`,
          pass: statuses === '404 405 401 200 200' && slowest < allowed(500, surroundings) && slowest < took,
        };
      }),
  },
  {
    name: 'three times the capacity',
    must: 'excess shed; accepted p99 at most twice the usual',
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, {}, async ({ url }) => {
        const { quick } = surroundings;
        const work = (): ListQuery => ({ path: '/work.json?busy=2' });
        const warm = clients(64, url, work);
        await sleep(quick ? 500 : 2000);
        await warm.stop();
        const seconds = quick ? 1 : 4;
        const usual = clients(64, url, work);
        await sleep(seconds * 1000);
        const before = await usual.stop();
        const capacity = before.length / seconds;
        const outcomes = await atRate(
          3 * capacity,
          quick ? { connections: 200, seconds: 1.5 } : { connections: 600, seconds: 60 },
          url,
          work,
        );
        const accepted = outcomes.filter(({ status }) => status === 200);
        const shed = outcomes.filter(({ status }) => status === 503);
        const ratio = percentile(accepted, 0.99) / percentile(before, 0.99);
        const isFast = quick || ratio <= 2;
        const pass = accepted.length + shed.length === outcomes.length && (quick || shed.length > 0) && isFast;
        return {
          seen: `capacity ${Math.round(capacity)}/s; of ${outcomes.length}: ${accepted.length} served, ${shed.length} shed (p99 ${Math.round(percentile(shed, 0.99))} ms); p99 ${Math.round(percentile(before, 0.99))} → ${Math.round(percentile(accepted, 0.99))} ms, × ${ratio.toFixed(2)}`,
          pass,
        };
      }),
  },
  {
    name: 'slow clients (headers and bodies)',
    must: "closed in time, others' p99 at most doubled",
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, { server: { header_timeout: 1000, request_timeout: 2000 } }, async ({ url }) => {
        const { quick } = surroundings;
        const [count, busy] = quick ? [100, 2] : [500, 8];
        const { hostname, port } = new URL(url);
        const read = (n: number): ListQuery => ({ path: `/thing/${(n % 200) + 1}.json` });
        const warm = clients(busy, url, read);
        await sleep(quick ? 500 : 1500);
        await warm.stop();
        const usual = clients(busy, url, read);
        await sleep(quick ? 500 : 2000);
        const before = await usual.stop();
        const start = performance.now();
        const closed: number[] = [];
        const sockets: Socket[] = Array.from({ length: count }, (_, i) => {
          const socket = connect(Number(port), hostname).on('error', () => undefined);
          socket.on('close', () => closed.push(performance.now() - start)).resume();
          const head = `POST /thing.json HTTP/1.1\r\nHost: x\r\n`;
          socket.write(i % 2 ? head : `${head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`);
          const timer = setInterval(() => socket.write(i % 2 ? `X-${i}: y\r\n` : ' '), 500);
          socket.on('close', () => clearInterval(timer));
          return socket;
        });
        const others = clients(busy, url, read);
        await sleep(4500);
        const during = await others.stop();
        for (const socket of sockets) socket.destroy();
        const ratio = percentile(during, 0.99) / percentile(before, 0.99);
        const isFast = quick || ratio <= 2;
        const pass = closed.length === count && isFast && during.every(({ status }) => status === 200);
        return {
          seen: `${closed.length} of ${count} closed, the last after ${Math.round(Math.max(...closed))} ms; others' p99 ${percentile(before, 0.99).toFixed(1)} → ${percentile(during, 0.99).toFixed(1)} ms, × ${ratio.toFixed(2)}`,
          pass,
        };
      }),
  },
  {
    name: 'client aborts',
    must: 'no transaction or connection left',
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, {}, async ({ url }, { query }) => {
        const count = surroundings.quick ? 200 : 10_000;
        const { hostname, port } = new URL(url);
        const abort = async (n: number) => {
          const { method = 'GET', path, json } = mixed(n);
          const body = json === undefined ? '' : JSON.stringify(json);
          const socket = connect(Number(port), hostname).on('error', () => undefined);
          socket.write(
            `${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
          );
          await sleep(Math.random() * 10);
          socket.resetAndDestroy();
        };
        for (let n = 0; n < count; n += 20) await Promise.all(Array.from({ length: 20 }, (_, i) => abort(n + i)));
        await sleep(1000);
        const left = await leftOpen(surroundings, query);
        const after = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(url, mixed(n))));
        const isServed = after.every(({ status }) => status === 200);
        return { seen: `${count} aborts: ${left}; afterwards ${shown(tally(after))}`, pass: isServed && left.startsWith('0 ') };
      }),
  },
  {
    name: 'mixed load, memory',
    must: 'RSS slope under 1 MiB in the second half',
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, {}, async (server) => {
        const [seconds, busy] = surroundings.quick ? [3, 4] : [600, 16];
        const load = clients(busy, server.url, mixed);
        const samples: { at: number; size: number }[] = [];
        for (let i = 0; i < seconds; i++) {
          await sleep(1000);
          samples.push({ at: i, size: server.memory().now });
        }
        const counts = tally(await load.stop());
        const half = samples.slice(samples.length / 2);
        const mean = (of: (sample: { at: number; size: number }) => number) =>
          half.reduce((sum, one) => sum + of(one), 0) / half.length;
        const [x, y] = [mean(({ at }) => at), mean(({ size }) => size)];
        const slope =
          half.reduce((sum, { at, size }) => sum + (at - x) * (size - y), 0) /
          half.reduce((sum, { at }) => sum + (at - x) ** 2, 0);
        const growth = slope * half.length;
        // a short run ends before the heap has reached its final size
        const most = surroundings.quick ? 100 : 1;
        return {
          seen: `${seconds} s, ${shown(counts)}: ${y.toFixed(0)} MiB, ${growth.toFixed(2)} MiB in the second half (at most ${most})`,
          pass: growth < most && Object.keys(counts).every((status) => status === '200'),
        };
      }),
  },
  {
    name: 'body of the maximum size; a list body of 10,000 items',
    must: 'peak growth at most 4 × body',
    kinds: both,
    run: (surroundings) =>
      withServer(surroundings, { server: { body_limit: 16_777_216 } }, async (server) => {
        await Promise.all(Array.from({ length: 50 }, (_, n) => ask(server.url, mixed(n))));
        const seen: string[] = [];
        let pass = true;
        for (const data of [
          'x'.repeat(16_700_000),
          Array.from({ length: 10_000 }, (_, id) => ({ id, name: 'y'.repeat(1500) })),
        ]) {
          const size = JSON.stringify({ name: 'n', data }).length / 1_048_576;
          server.forgetPeak();
          const { now } = server.memory();
          const { status } = await ask(server.url, { method: 'POST', path: '/thing.json', json: { name: 'n', data } });
          const grown = Math.max(server.memory().peak - now, 0);
          // the garbage collector decides when memory is released; in a short run it can be later
          pass &&= status === 201 && grown <= (surroundings.quick ? 6 : 4) * size;
          seen.push(`${size.toFixed(1)} MiB: ${status}, + ${grown.toFixed(0)} MiB, × ${(grown / size).toFixed(1)}`);
        }
        return { seen: seen.join('; '), pass };
      }),
  },
];
