import { expect, test, vi } from 'vitest';
import { ExportPlaces } from '../../src/actions/export/export-places.ts';

const here = new AbortController().signal;

/** What was granted, in order, as `caller`. */
function asking(places: ExportPlaces) {
  const granted: string[] = [];
  const ask = async (caller: string, gone = here) => {
    const place = await places.take(caller, gone);
    granted.push(caller);
    return place;
  };
  return { ask, granted };
}

test('one caller gets all export slots but one, and the last is reserved for another caller', async () => {
  const { ask, granted } = asking(new ExportPlaces(4, 50));
  await Promise.all([ask('a'), ask('a'), ask('a')]);
  await expect(ask('a')).rejects.toMatchObject({ code: 'too_many_exports', headers: { 'retry-after': '5' } });
  await ask('b');
  await expect(ask('c')).rejects.toMatchObject({ code: 'too_many_exports' });
  expect(granted).toEqual(['a', 'a', 'a', 'b']);
});

test('a single caller can use both of two export slots', async () => {
  const { ask } = asking(new ExportPlaces(2, 50));
  await Promise.all([ask('a'), ask('a')]);
  await expect(ask('a')).rejects.toMatchObject({ code: 'too_many_exports' });
});

test('the next slot goes to the caller with the fewest, and no caller gets over half while others wait', async () => {
  const { ask, granted } = asking(new ExportPlaces(4, 5000));
  const held = await Promise.all([ask('a'), ask('a'), ask('a'), ask('b')]);
  granted.length = 0;
  const waiting = [ask('a'), ask('a'), ask('c')];
  held[0].release();
  held[0].release();
  await waiting[2];
  held[1].release();
  await waiting[0];
  expect(granted).toEqual(['c', 'a']);
  // the second place of a is the last one that a gets, free ones or not
  held[3].release();
  const last = await ask('b');
  expect(granted).toEqual(['c', 'a', 'b']);
  held[2].release();
  await waiting[1];
  last.release();
});

test('an export that the client does not read is ended only for a caller with fewer exports', async () => {
  vi.useFakeTimers();
  try {
    const { ask } = asking(new ExportPlaces(2, 10_000));
    const [read, unread] = await Promise.all([ask('a'), ask('a')]);
    const ended: string[] = [];
    read.end = () => ended.push('read');
    unread.end = () => {
      ended.push('unread');
      unread.release();
    };
    unread.unreadSince = performance.now();
    const own = ask('a').catch(() => 'refused');
    await vi.advanceTimersByTimeAsync(5000);
    expect(ended).toEqual([]);
    const other = ask('b');
    await vi.advanceTimersByTimeAsync(500);
    await other;
    expect(ended).toEqual(['unread']);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await own).toBe('refused');
  } finally {
    vi.useRealTimers();
  }
});

test('waiting exports are rejected when the server closes, and no new ones wait', async () => {
  const places = new ExportPlaces(1, 60_000);
  const { ask } = asking(places);
  const held = await ask('a');
  const waiting = ask('b');
  places.close();
  await expect(waiting).rejects.toMatchObject({ code: 'too_many_exports' });
  await expect(ask('b')).rejects.toMatchObject({ code: 'too_many_exports' });
  held.release();
  await ask('b');
});

test('an export stops waiting when its caller disconnects', async () => {
  const { ask } = asking(new ExportPlaces(1, 60_000));
  const gone = new AbortController();
  await ask('a');
  const waiting = ask('b', gone.signal);
  gone.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'too_many_exports' });
});
