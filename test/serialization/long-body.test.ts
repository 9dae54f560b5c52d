// @module-tag divided
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { longJson, parseLongBody } from '../../src/serialization/long-body.ts';
import { databases } from '../support/databases.ts';
import { thingOptions, withThings } from '../traffic/things.ts';

/** What parsing comes to, or that it is no JSON. */
async function outcome(parse: () => unknown): Promise<unknown> {
  try {
    return { value: await parse() };
  } catch {
    return 'refused';
  }
}

/** As few bytes as these are long here. */
const long = 8;
const tooDeep = () => new Error('too deep');
const parsed = (text: string, deepest = 100) => parseLongBody(Buffer.from(text), JSON.parse, deepest, tooDeep, long);

/** JSON as it would not be written: with spaces, escapes, numbers in other forms, names that look like numbers or come twice. */
const oddJson = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'binary', maxLength: 30 }).map((text) => JSON.stringify(text)),
    fc
      .string({ unit: fc.constantFrom('a', '\\\\', '\\"', '\\u0041', 'ü', '\u{1f600}', ']', '{', ','), maxLength: 20 })
      .map((text) => `"${text}"`),
    fc.constantFrom('0', '-0', '12', '1.50', '0.25', '1e3', '1E400', '12345678901234567890', 'true', 'null', '"1"'),
    fc.array(tie('json'), { maxLength: 6 }).map((items) => `[${items.join()}]`),
    fc.array(tie('json'), { maxLength: 6 }).map((items) => `[ ${items.join(' ,\n')}]`),
    fc
      .array(fc.tuple(fc.constantFrom('a', 'b', '1', 'long enough', 'l\\u006fng'), tie('json')), { maxLength: 4 })
      .map((entries) => `{${entries.map(([name, json]) => `"${name}":${json}`).join()}}`),
  ),
})).json;

describe('a body with a long value', () => {
  test('is parsed like any other, and its stored JSON equals its serialized form', async () => {
    let kept = 0;
    await fc.assert(
      fc.asyncProperty(oddJson, async (json) => {
        const text = `{"a":${json},"b":[${json}]}`;
        const body = (await parsed(text)) as Record<string, unknown>;
        expect(body).toEqual(JSON.parse(text));
        for (const value of Object.values(body)) {
          const sent = longJson(body, value);
          if (sent !== undefined) expect(sent).toBe(JSON.stringify(value));
          if (sent !== undefined) kept++;
        }
      }),
      { numRuns: 3000, examples: [['["a","b",{"c":[1,-2,0.5,true,null]}]'], ['"a long text, ü"']] },
    );
    expect(kept).toBeGreaterThan(1);
  });

  test('discards the stored JSON of a changed list', async () => {
    const sent = String.raw`["1","2",{"a":2,"b":[]},"three\n"]`;
    const plain = sent.replace(String.raw`\n`, '');
    const changes: [string, (list: unknown[]) => void][] = [
      [plain, (list) => list.push(4)],
      [plain, (list) => list.pop()],
      [plain, (list) => list.splice(0)],
      [plain, (list) => list.splice(0, 1, 1)],
      [plain, (list) => list.splice(0, 2, '1","2')],
      [plain, (list) => list.splice(2, 1, Object.assign(Object.create({ toJSON: () => 3 }), list[2]))],
      [plain, ([, , item]) => Object.assign(item as object, { a: 3 })],
      [plain, ([, , item]) => Object.assign(item as object, { c: undefined })],
      [plain, ([, , item]) => Object.assign(item as object, { b: {} })],
      [sent, () => undefined],
      [sent, (list) => list.splice(3, 1, String.raw`three\n`)],
    ];
    for (const [text, change] of changes) {
      const body = (await parsed(`{"list":${text}}`)) as { list: unknown[] };
      if (text === plain) expect(longJson(body, body.list)).toBe(text);
      change(body.list);
      expect(longJson(body, body.list)).toBeUndefined();
    }
  });

  test('is rejected if JSON.parse rejects it', async () => {
    const broken = fc
      .tuple(
        oddJson,
        fc.nat(),
        fc.constantFrom('', '"', ',', ']', '}', '[', ':', '\\', '\n', ' ', '\ufeff', '0'),
        fc.nat({ max: 2 }),
      )
      .map(([json, at, put, cut]) => {
        const text = `{"a":${json},"b":[${json}]}`;
        const place = at % (text.length + 1);
        return text.slice(0, place) + put + text.slice(place + cut);
      });
    await fc.assert(
      fc.asyncProperty(broken, async (text) => {
        const decoded = new TextDecoder().decode(Buffer.from(text));
        expect(await outcome(() => parsed(text))).toEqual(await outcome(() => JSON.parse(decoded)));
      }),
      {
        numRuns: 3000,
        examples: [
          ['"not ended at all'],
          ['"a long text\n"'],
          ['[1,2,3,4,5,6,]'],
          ['{"a":"a long text"\ufeff}'],
          ['[[1,2,3,4,5}'],
        ],
      },
    );
  });

  test('is rejected if it is not valid UTF-8', async () => {
    const text = Buffer.from(`{"a": "${'x'.repeat(20)}", "b": [1, 2, 3, 4, "y"]}`);
    for (let i = 0; i < text.length; i++) {
      const bytes = Buffer.from(text);
      bytes[i] = 0xff;
      await expect(parseLongBody(bytes, JSON.parse, 100, tooDeep, long)).rejects.toThrow();
    }
  });
});

test('a long body is rejected if it nests too deep', async () => {
  const nested = (depth: number) => `${'[{"a\\"]}":'.repeat(depth)}1${'}]'.repeat(depth)}`;
  expect(await parsed(nested(4), 8)).toEqual(JSON.parse(nested(4)));
  await expect(parsed(nested(4), 7)).rejects.toThrow('too deep');
});

const headers = { 'content-type': 'application/json' };
const list = Array.from({ length: 300 }, (_, id) => ({ id, name: 'ü'.repeat(600), ratio: id / 8 }));

describe.each(databases)('long values on %s', (database) => {
  test.each([
    ['a text', 'ä long text, '.repeat(30_000)],
    ['a text that is all escapes', '"\\\n'.repeat(90_000)],
    ['a list', list],
    ['a list in an object', { list, text: 'x'.repeat(300_000) }],
  ])('%s is returned as it was sent', async (_, data) => {
    await withThings(database, thingOptions(), async ({ request }) => {
      for (const text of [JSON.stringify({ name: 'n', data }), JSON.stringify({ name: 'n', data }, null, 1)]) {
        const made = await request('POST', '/thing.json', { body: text, headers });
        expect(made.status).toBe(201);
        expect(made.json.data).toEqual(data);
        expect((await request('GET', `/thing/${made.json.id}.json`)).json.data).toEqual(data);
      }
    });
  });

  test('are rejected like short ones', async () => {
    await withThings(database, thingOptions(), async ({ request }) => {
      const [text, items] = ['x'.repeat(300_000), '1,'.repeat(150_000)];
      for (const body of [
        `{"name":"n","data":"${text}`,
        `{"name":"n","data":"${text}\t"}`,
        `{"name":"n","data":[${items}]}`,
        `{"name":"n","data":[${items}2}}`,
        `{"name":"n","data":[${items}{"__proto__":1}]}`,
        Buffer.concat([Buffer.from(`{"name":"n","data":"${text}`), Buffer.from([0xff]), Buffer.from('"}')]),
      ]) {
        const refused = await request('POST', '/thing.json', { body, headers });
        expect([refused.status, refused.json.code]).toEqual([400, 'invalid_body']);
      }
      const deep = `{"name":"n","data":[${items}${'['.repeat(100)}${']'.repeat(100)}]}`;
      expect((await request('POST', '/thing.json', { body: deep, headers })).json.code).toBe('body_too_deep');
      const wrong = await request('POST', '/thing.json', { body: `{"name":"${text}","data":null}`, headers });
      expect([wrong.status, wrong.json.violations.map(({ propertyPath }: { propertyPath: string }) => propertyPath)]).toEqual([
        422,
        ['name'],
      ]);
    });
  });
});

describe('a long body', () => {
  test('can also be read by other listeners', async () => {
    const read: Buffer[] = [];
    await withThings('sqlite', thingOptions(), async ({ app, request }) => {
      app.server.prependListener('request', (raw) => raw.on('data', (chunk: Buffer) => read.push(chunk)));
      const body = JSON.stringify({ name: 'n', data: 'x'.repeat(300_000) });
      expect((await request('POST', '/thing.json', { body, headers })).status).toBe(201);
      expect(Buffer.concat(read).toString()).toBe(body);
    });
  });

  test('is refused if its length differs from its Content-Length', async () => {
    await withThings('sqlite', thingOptions(), async ({ app }) => {
      const announced = { ...headers, 'content-length': '40' };
      const refused = await app.inject({ method: 'POST', url: '/thing.json', headers: announced, payload: '{"name":"n"}' });
      expect(refused.json()).toMatchObject({ status: 400, code: 'invalid_body' });
    });
  });
});
