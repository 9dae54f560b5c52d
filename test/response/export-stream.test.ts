import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ChunkSize } from '../../src/response/chunk-size.ts';
import { type ExportSource, ExportStream } from '../../src/response/export-stream.ts';

function sourceOf(pieces: number): ExportSource {
  let left = pieces;
  return { next: async () => (left-- > 0 ? 'line\n' : null), close: async () => undefined };
}

function read(stream: ExportStream): Promise<void> {
  return pipeline(stream, new Writable({ write: (_piece, _encoding, done) => done() }));
}

const options = { start: '', stallTimeout: 0, onFreed: () => undefined, onUnread: () => undefined };

test('an export to a fast reader lets other work run between its pieces', async () => {
  const pieces = 50;
  const exports = [0, 1, 2].map(() => read(new ExportStream(sourceOf(pieces), options)));
  let turns = 0;
  let isOver = false;
  const all = Promise.all(exports).then(() => {
    isOver = true;
  });
  for (; !isOver; turns++) await nextTurn();
  await all;
  expect(turns).toBeGreaterThanOrEqual(pieces);
});

test('an export that is destroyed while it waits for its turn stops reading', async () => {
  let asked = 0;
  const source = { next: async () => (asked++ < 1 ? 'line\n' : null), close: async () => undefined };
  const stream = new ExportStream(source, options);
  stream.read();
  stream.destroy();
  await nextTurn();
  await nextTurn();
  expect(asked).toBe(0);
});

test('chunks shrink if rows are long, and grow step by step if rows are short', () => {
  const size = new ChunkSize({ first: 20, most: 200, length: 1000 });
  const sizes = [size.rows];
  for (const length of [1_000_000, 10, 10, 10, 10, 10]) {
    size.begin();
    size.end(size.rows, length);
    sizes.push(size.rows);
  }
  expect(sizes).toEqual([20, 1, 4, 16, 64, 200, 200]);
});

test('a slow chunk is followed by a smaller one', () => {
  const size = new ChunkSize({ first: 10, most: 200, length: 1_000_000 });
  size.begin();
  size.end(10, 10);
  expect(size.rows).toBe(40);
  size.begin();
  const used = () => {
    const { system, user } = process.threadCpuUsage();
    return system + user;
  };
  for (const end = used() + 100_000; used() < end; );
  size.end(40, 10);
  expect(size.rows).toBe(10);
});
