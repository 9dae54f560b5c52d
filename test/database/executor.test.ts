import { describe, expect, test } from 'vitest';
import { coalesced, type Executor, type Statement } from '../../src/database/executor.ts';

const count: Statement = { name: 'count', text: 'select count(*) from people', wide: false };
const other: Statement = { ...count, name: 'other' };

/** An executor whose answers come when the test says so. */
function heldExecutor() {
  const sent: { name: string; parameters: readonly unknown[]; answer(rows: unknown[][]): void; fail(error: Error): void }[] = [];
  const rows: Executor['rows'] = ({ name }, parameters) =>
    new Promise((answer, fail) => {
      sent.push({ name, parameters, answer, fail });
    });
  return { sent, executor: { rows: coalesced(rows) } };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('coalescing', () => {
  test('never lets a request share a statement that was sent before the request came', async () => {
    const { sent, executor } = heldExecutor();
    const first = executor.rows(count, []);
    const second = executor.rows(count, []);
    await turn();
    expect(sent).toHaveLength(1);
    sent[0]?.answer([['old']]);
    await turn();
    expect(sent).toHaveLength(2);
    sent[1]?.answer([['new']]);
    expect(await first).toEqual([['old']]);
    expect(await second).toEqual([['new']]);
  });

  test('lets all waiting requests share one execution, and sends one at a time', async () => {
    const { sent, executor } = heldExecutor();
    const first = executor.rows(count, []);
    const later = Array.from({ length: 50 }, () => executor.rows(count, []));
    await turn();
    expect(sent).toHaveLength(1);
    sent[0]?.answer([['1']]);
    await first;
    await turn();
    // those that come while the shared one runs wait for the one after it
    const last = executor.rows(count, []);
    await turn();
    expect(sent).toHaveLength(2);
    sent[1]?.answer([['2']]);
    expect(new Set((await Promise.all(later)).map(([row]) => row?.[0]))).toEqual(new Set(['2']));
    await turn();
    expect(sent).toHaveLength(3);
    sent[2]?.answer([['3']]);
    expect(await last).toEqual([['3']]);
  });

  test('shares nothing between different statements or parameters', async () => {
    const { sent, executor } = heldExecutor();
    const parameters = [
      [],
      [1],
      ['1'],
      [1n],
      [true],
      ['true'],
      [null],
      ['null'],
      [undefined],
      [Number.NaN],
      [new Date(0)],
      [0],
      ['1970-01-01T00:00:00.000Z'],
      [[1, 2]],
      [['1', '2']],
      [['1,2']],
      ['1', '2'],
      ['1","2'],
      [Buffer.from('a')],
      [Buffer.from('b')],
      [{ a: 1 }],
    ];
    for (const values of parameters) void executor.rows(count, values);
    void executor.rows(other, []);
    await turn();
    expect(sent).toHaveLength(parameters.length + 1);
  });

  test('sends a new statement if none is pending', async () => {
    const { sent, executor } = heldExecutor();
    const first = executor.rows(count, [1n]);
    sent[0]?.answer([]);
    await first;
    await turn();
    void executor.rows(count, [1n]);
    expect(sent).toHaveLength(2);
  });

  test('passes an error to the requests that share it and to no later request', async () => {
    const { sent, executor } = heldExecutor();
    const first = executor.rows(count, []);
    const second = executor.rows(count, []);
    const third = executor.rows(count, []);
    sent[0]?.fail(new Error('first'));
    await expect(first).rejects.toThrow('first');
    await turn();
    sent[1]?.fail(new Error('second'));
    await expect(second).rejects.toThrow('second');
    await expect(third).rejects.toThrow('second');
    await turn();
    const fourth = executor.rows(count, []);
    await turn();
    sent[2]?.answer([['well']]);
    expect(await fourth).toEqual([['well']]);
  });

  test('recovers from an executor that throws synchronously', async () => {
    let failing = true;
    const rows = coalesced(() => {
      if (failing) throw new Error('at once');
      return Promise.resolve([['well']]);
    });
    const asked = [rows(count, []), rows(count, []), rows(count, [])];
    for (const answer of await Promise.allSettled(asked)) expect(answer.status).toBe('rejected');
    failing = false;
    expect(await rows(count, [])).toEqual([['well']]);
  });
});
