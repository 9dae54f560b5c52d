import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, type MockInstance, test, vi } from 'vitest';
import { openToRead, openToWrite } from '../../../src/dialect/sqlite/open-file.ts';
import type { ReaderThreads } from '../../../src/dialect/sqlite/reads/reader-threads.ts';
import { RoutedReads } from '../../../src/dialect/sqlite/reads/routed-reads.ts';
import { Stopwatch } from '../../../src/dialect/sqlite/reads/stopwatch.ts';
import { StoppableConnection } from '../../../src/dialect/sqlite/stoppable-connection.ts';
import { makeTemporary } from '../../support/temporary.ts';

const temporary = makeTemporary('routed');
const file = join(temporary.directory, 'app.db');
/** As if a statement had just been read in a thread. */
const threads = { rows: async () => ({ rows: [], took: 2, cost: 2 }) } as unknown as ReaderThreads;
let reads: RoutedReads;
let stoppable: StoppableConnection;
let plain: ReturnType<typeof openToRead>;
let writer: ReturnType<typeof openToWrite>;
const opened: { close(): void }[] = [];

beforeAll(() => {
  writer = openToWrite(file);
  writer.exec(`create table note (id integer primary key, text text);
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
      insert into note select i, 'note ' || i from n`);
  stoppable = new StoppableConnection(file);
  plain = openToRead(file);
  opened.push(writer, stoppable, plain);
});

// a test that is repeated because the machine was busy knows nothing of the reads before
beforeEach(() => {
  reads = new RoutedReads({ plain, stoppable }, threads, 'arrays');
});

afterAll(() => {
  for (const each of opened) each.close();
  temporary.remove();
});

const patterns = (i: number) => Array.from({ length: 6 }, (_, n) => `text like '%${n}%${i}%x%'`).join(' or ');
const read = (text: string) => reads.rows({ name: text, text, wide: false }, []);
const readsHere = (text: string) => Array.isArray(read(text));

test('concurrent reads share a budget of 25 ms per event loop turn instead of 10 ms each', async () => {
  // more than two milliseconds each, whatever the machine: several patterns for each of the rows
  const scans = Array.from({ length: 40 }, (_, i) => `select id from note where ${patterns(i)}`);
  const results = scans.map(read);
  expect(results.filter(Array.isArray).length).toBeLessThanOrEqual(13);
  // reads by key are never sent away
  expect(readsHere('select text from note where id = 7')).toBe(true);
  await Promise.all(results);
  await turn();
  expect(readsHere('select id from note where id < 3')).toBe(true);
});

test('known reads beyond the budget wait for later turns in order, and run in threads only if too many wait', async () => {
  const sent = vi.spyOn(threads, 'rows');
  const cost = vi.spyOn(Stopwatch.prototype, 'cost').mockReturnValue(5);
  const scan = (i: number) => `select id, ${i} from note where length(text) > 5 limit 3`;
  try {
    await read(scan(0));
    await turn();
    expect(sent).not.toHaveBeenCalled();
    const finished: number[] = [];
    const results = Array.from({ length: 30 }, (_, i) => read(scan(i)));
    expect(results.filter(Array.isArray)).toHaveLength(5);
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    await Promise.all(results.map(async (result, index) => finished.push((await result) && index)));
    clearInterval(timer);
    expect(finished).toEqual(results.map((_, index) => index));
    expect(turns).toBeGreaterThan(0);
    expect(sent).not.toHaveBeenCalled();

    await turn();
    await Promise.all(Array.from({ length: 110 }, (_, i) => read(scan(i))));
    // five in this turn, a hundred that wait
    expect(sent).toHaveBeenCalledTimes(5);
  } finally {
    cost.mockRestore();
    sent.mockRestore();
  }
});

test.runIf(process.threadCpuUsage)('a read that was slow only because the CPU was busy stays on the main thread', async () => {
  await turn();
  const scan = 'select id from note where length(text) > 5 limit 300';
  const clock = performance.now.bind(performance);
  let calls = 0;
  // the processor is away for 35 milliseconds after the read has begun
  const now = vi.spyOn(performance, 'now').mockImplementation(() => clock() + (++calls > 4 ? 35 : 0));
  try {
    expect(readsHere(scan)).toBe(true);
    expect(calls).toBeGreaterThan(5);
  } finally {
    now.mockRestore();
  }
  expect(readsHere(scan)).toBe(true);
});

describe('a read that was short', () => {
  const page = { name: 'page', text: 'select id from note where id >= ?1 order by id limit 5 offset ?2', wide: false };
  let clock: MockInstance<typeof performance.now>;
  let elapsed = 0;

  /** Whether the read had a time limit. */
  async function isLimited(...parameters: number[]): Promise<boolean> {
    const within = vi.spyOn(StoppableConnection.prototype, 'within');
    const rows = await reads.rows(page, parameters);
    const [first = 0, offset = 0] = parameters;
    expect(rows).toEqual(Array.from({ length: 5 }, (_, i) => [first + offset + i]));
    const calls = within.mock.calls.length;
    within.mockRestore();
    return calls > 0;
  }

  beforeAll(() => {
    clock = vi.spyOn(performance, 'now');
  });
  beforeEach(async () => {
    await turn();
    elapsed += 60_000;
    clock.mockImplementation(() => elapsed);
  });
  afterAll(() => clock.mockRestore());

  test('has no time limit the second time, and none at a smaller offset', async () => {
    expect(await isLimited(1, 100)).toBe(true);
    expect(await isLimited(1, 100)).toBe(false);
    expect(await isLimited(1, 20)).toBe(false);
  });

  test('has one with other parameters or at a larger offset', async () => {
    expect(await isLimited(1, 100)).toBe(true);
    expect(await isLimited(2, 100)).toBe(true);
    expect(await isLimited(1, 101)).toBe(true);
    expect(await isLimited(1, 101)).toBe(false);
    expect(await isLimited(1, 100)).toBe(false);
  });

  test('has one again within 20 ms of a commit', async () => {
    expect(await isLimited(1, 100)).toBe(true);
    expect(await isLimited(1, 100)).toBe(false);
    writer.exec("insert into note values (30000, 'new')");
    elapsed += 20;
    expect(await isLimited(1, 100)).toBe(true);
    expect(await isLimited(1, 100)).toBe(false);
  });

  test('has one again after 10 seconds, because a cost can depend on the time of day', async () => {
    expect(await isLimited(1, 100)).toBe(true);
    elapsed += 9900;
    expect(await isLimited(1, 100)).toBe(false);
    elapsed += 100;
    expect(await isLimited(1, 100)).toBe(true);
  });

  test('keeps one as long as it is not short', async () => {
    const cost = vi.spyOn(Stopwatch.prototype, 'cost').mockReturnValue(2.1);
    for (let i = 0; i < 3; i++) expect(await isLimited(1, 50)).toBe(true);
    cost.mockRestore();
  });
});
