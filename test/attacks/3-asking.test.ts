// @module-tag divided
import { beforeAll, describe, expect, test } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { databases } from '../support/databases.ts';
import { apis, bare, hidden, linked, registry, seen } from './support/registry.ts';
import { type Answer, type Sent, useTarget } from './support/target.ts';
import { admin, ann, marker } from './support/vault.ts';

type Any = any;

/** Names under which a list could be asked for what it does not show, or for what every object has. */
const names = [
  'code',
  'pin',
  'owner',
  'room.owner',
  'rooms.owner',
  'item.room.name',
  'room.parent.name',
  'item.code',
  'e.code',
  'id.code',
  'Title',
  'title ',
  'TITLE',
  '__proto__',
  'constructor',
  'constructor.prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '__proto__.title',
  'title.length',
  'or',
  'and',
  'not',
  '$or',
  '*',
  "title' or '1'='1",
  'title"',
  'title)--',
  'nonsense',
];

const operators = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '$gt',
  '$ne',
  'EQ',
  'eq ',
  'like',
  'ilike',
  'regex',
  'raw',
  'null',
  'between',
  '=',
  '0',
  'gte',
  'length',
];

/** Each is stored as a title, and looked for by every operator. */
const hostile = [
  '100%',
  '%',
  '_',
  'a_b',
  'axb',
  '\\',
  'a\\b',
  '\\%',
  '\\_',
  "'",
  "''",
  "' or '1'='1",
  "'; drop table item; --",
  '"',
  '"; delete from item; --',
  '`',
  '$1',
  '?',
  ':title',
  '??',
  '[raw]: 1 = 1 (#1)',
  '/* */',
  '*',
  '(',
  'null',
  'a,b',
  'a\nb',
];

describe.each(databases)('API3:2023 list queries, on %s', (kind) => {
  const target = useTarget(kind, {
    ...registry,
    seed: async (em: Any) => {
      await registry.seed?.(em);
      for (const [index, title] of hostile.entries()) em.create(registry.models?.[1], { id: index + 1, title });
      await em.flush();
    },
  } as never);
  const get = (path: string, as: Sent['as'] = ann) => target.send('GET', path, { as });
  /** What was answered, and by how many statements. */
  const asked = async (path: string, as?: Sent['as']) => {
    target.app.statements.length = 0;
    const answer = await get(path, as);
    return { ...answer, statements: target.app.statements.length };
  };
  const refused = async (path: string): Promise<Answer> => {
    const { statements, ...answer } = await asked(path);
    expect([path, answer.status, statements]).toEqual([path, 400, 0]);
    expect(answer.whole).not.toContain(marker);
    return answer;
  };
  const query = (...pairs: [string, string][]) => pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');

  describe('only readable fields can be declared for queries (Strapi CVE-2023-22894, CVE-2026-27886; nestjsx/crud#377)', () => {
    test.each([
      ['item', { filters: { code: ['eq'] } }],
      ['item', { filters: { pin: ['eq'] } }],
      ['item', { filters: { 'room.owner': ['eq'] } }],
      ['item', { filters: { 'rooms.owner': ['eq'] } }],
      ['item', { sort: ['code'] }],
      ['item', { sort: ['room.name'] }],
      ['item', { sort: ['room.id'] }],
      ['item', { search: ['code'] }],
      ['room', { sort: ['parent.id'] }],
      ['loan', { filters: { 'item.code': ['eq'] } }],
      ['loan', { filters: { 'item.room.owner': ['eq'] } }],
      ['loan', { sort: ['item.room.name'] }],
      ['loan', { search: ['item.room.owner'] }],
    ])('the API %s with %j fails to start', async (name, declared) => {
      const url = kind === 'sqlite' ? 'sqlite::memory:' : 'postgresql://nobody@127.0.0.1:1/none';
      const load = async (more: object) => {
        const app_main = { apis: { ...apis, [name]: { ...(apis as Any)[name], ...more } }, database: { url } };
        const { mapper } = await loadApplication({ ...registry, app_main } as never);
        await mapper.close(true);
      };
      await expect(load(declared)).rejects.toThrow(/is not in the group "read"|hides rows of Room/);
      await load({});
    });
  });

  describe('undeclared names are rejected like unknown ones, before any statement (CVE-2023-22894)', () => {
    /** What is said of a name, with the name left out. */
    const said = ({ json }: Answer, written: string) => `${json.code}: ${json.detail.replace(`"${written}"`, '"#"')}`;

    test.each(['eq', 'ne', 'contains', 'starts', 'exists', 'gt'])('as a filter with %s', async (operator) => {
      const answers = new Set<string>();
      // a group is something else
      for (const name of names.filter((each) => each !== 'or')) {
        const written = `${name}[${operator}]`;
        answers.add(said(await refused(`/item.json?${query([written, 'true'])}`), written));
      }
      expect([...answers]).toEqual([expect.stringContaining('unknown_parameter: unknown query parameter "#"')]);
    });

    test('as a filter without an operator', async () => {
      for (const name of names.filter((each) => each !== 'or')) await refused(`/item.json?${encodeURIComponent(name)}=H`);
    });

    test.each(['sort', 'fields'])('in %s', async (parameter) => {
      const answers = new Set<string>();
      for (const name of names) {
        for (const form of [name, `id,${name}`, ...(parameter === 'sort' ? [`-${name}`] : [])]) {
          answers.add(said(await refused(`/item.json?${query([parameter, form])}`), form.replace('id,', '')));
        }
      }
      const code = parameter === 'sort' ? 'sort_not_allowed' : 'field_not_readable';
      expect([...answers]).toEqual([expect.stringContaining(`${code}: the query parameter "${parameter}" cannot `)]);
    });

    test.each(operators)('with the operator %j', async (operator) => {
      for (const name of ['title', 'kind', 'open', 'data']) {
        const { json } = await refused(`/item.json?${query([`${name}[${operator}]`, 'H'])}`);
        expect(['operator_not_allowed', 'unknown_parameter']).toContain(json.code);
      }
      expect(({} as Any).H).toBeUndefined();
    });

    test.each([
      'title[eq][eq]=x',
      'title[=x',
      'title]=x',
      'title[]=x',
      'title[eq]x=x',
      '[title]=x',
      '[eq]=x',
      'title[in][0]=x',
      'title=x&title=y',
      'title=x&title[eq]=y',
      'or=x',
      'or[]=x',
      'or[0]=x',
      'or[0][]=x',
      'or[0][code]=x',
      'or[0][room.owner]=x',
      'or[0][__proto__]=x',
      'or[__proto__][title]=x',
      'or[constructor][title]=x',
      'or[-1][title]=x',
      'or[1e3][title]=x',
      'or[0][or][title]=x',
      'or[0][sort]=title',
      'or[0][q]=x',
      'sort=',
      'sort=-',
      'sort=--title',
      'sort=title,title',
      'sort=title%20desc',
      'sort[]=title',
      'sort[title]=asc',
      'sort=title&sort=title',
      'q[]=x',
      'q[$ne]=x',
      'q=a&q=b',
      'fields=',
      'fields=*',
      'fields=id,,title',
      'fields[item]=id',
      'fields=id&fields=',
    ])('rejects ?%s (CVE-2022-24999)', async (text) => {
      await refused(`/item.json?${text}`);
    });
  });

  describe('counts, sort orders and errors reveal nothing about hidden rows (CVE-2023-22894, CWE-203)', () => {
    const right = `${marker}room`;
    const wrong = `${marker}rook`;
    const conditions = (name: string): string[] => [
      query(['name', name]),
      query(['name[in]', `x,${name}`]),
      query(['name[contains]', name]),
      query(['name[starts]', name]),
      query(['name[ends]', name.slice(3)]),
      query(['name[ne]', name]),
      query(['q', name]),
      query(['q', name.toLowerCase()]),
      query(['or[0][name]', name], ['or[1][name]', 'nobody']),
      query(['or[0][name]', name], ['or[1][name]', 'twin']),
      query(['name[starts]', name], ['sort', '-name']),
      query(['name[contains]', name], ['fields', 'name']),
    ];

    test.each(conditions(right).map((text, index) => [text, conditions(wrong)[index] as string]))('?%s', async (one, other) => {
      const answers = [];
      for (const text of [one, other]) {
        // the first time, a statement may be made
        await get(`/room.json?${text}`);
        const { json, status, statements, whole } = await asked(`/room.json?${text}`);
        expect(status, whole).toBe(200);
        expect(whole.replaceAll(encodeURIComponent(right), '')).not.toContain(right);
        answers.push([json.count, json.results, json.pagination.more, statements]);
      }
      expect(answers[0]).toEqual(answers[1]);
      // the administrator is told the difference
      const [first, second] = [await get(`/room.json?${one}`, admin), await get(`/room.json?${other}`, admin)];
      expect(first.json.count).not.toBe(second.json.count);
    });

    const twins = `id[in]=${linked},${bare}`;
    const casesOf = (list: string, all: readonly string[]) => all.map((condition) => [list, condition] as const);
    test.each([
      ...casesOf('/item', [
        'room[exists]=true',
        'room[exists]=false',
        `room.id=${hidden}`,
        `room.id[in]=1,${hidden}`,
        `room.id[ne]=${hidden}`,
        'room.id[exists]=true',
        'room.id[exists]=false',
        `room.name=${right}`,
        `room.name[ne]=${right}`,
        `room.name[in]=x,${right}`,
        'room.name[lt]=ZZZ',
        'room.name[gte]=A',
        'room.name[contains]=idd',
        'room.name[starts]=h',
        'room.name[ends]=m',
        'room.name[exists]=true',
        'room.name[exists]=false',
        `rooms.id=${hidden}`,
        `rooms.id[ne]=${seen}`,
        `rooms.name=${right}`,
        'rooms.name[ne]=own+room',
        'rooms.name[contains]=idd',
        `q=${right}`,
        'q=idd+twin',
        `or[0][room.name]=${right}&or[1][title]=x`,
        `or[0][or][0][rooms.id]=${hidden}&or[0][or][1][title]=x`,
        'room[exists]=false&title=twin&sort=-id',
      ]),
      ...casesOf('/loan', [
        'item.room[exists]=true',
        'item.room[exists]=false',
        `item.room.name=${right}`,
        `item.room.name[ne]=${right}`,
        'item.room.name[contains]=idd',
        `item.rooms.id=${hidden}`,
        `item.rooms.id[ne]=${seen}`,
        'q=idd',
      ]),
      ...casesOf('/room', ['parent[exists]=true', 'parent[exists]=false', `parent.id=${hidden}`, `parent.id[ne]=${hidden}`]),
    ])('through an association: %s ?%s', async (list, condition) => {
      const found = async (as: typeof ann, format: string) => {
        const { status, text, whole } = await get(`${list}.${format}?${twins}&${condition}`, as);
        expect(status, whole).toBe(200);
        if (as === ann) expect(text.replaceAll(right, '')).not.toContain(marker);
        if (format === 'json') {
          const { count, results } = JSON.parse(text);
          expect(count).toBe(results.length);
          return results.map(({ id }: { id: number }) => id).toSorted();
        }
        return text
          .trim()
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line).id)
          .toSorted();
      };
      for (const format of ['json', 'ndjson']) {
        // both of them or none: one is not told from the other
        expect([[], [linked, bare]]).toContainEqual(await found(ann, format));
        expect([[linked], [bare]]).toContainEqual(await found(admin, format));
      }
    });

    test.each([`id=${hidden}`, `id[in]=${hidden},999`, `id[gt]=${hidden - 1}&id[lt]=${hidden + 1}`])(
      'by key: ?%s',
      async (text) => {
        const { json } = await get(`/room.json?${text}`);
        expect([json.count, json.results]).toEqual([0, []]);
        expect((await get(`/room.json?${text}`, admin)).json.count).toBe(1);
      },
    );

    test.each(['name', '-name', 'id', '-id', '-name,id'])('sorted by %s, page by page', async (sort) => {
      const found: number[] = [];
      let next: string | null = `/room.json?sort=${sort}&items_per_page=1`;
      while (next !== null) {
        const { json, whole }: Answer = await get(next);
        expect(whole).not.toContain(marker);
        expect(json.count).toBe(3);
        found.push(...json.results.map(({ id }: { id: number }) => id));
        next = json.pagination.next;
      }
      expect(found.toSorted()).toEqual([102, 103, 201]);
    });
  });

  describe('operands are treated as plain values (CWE-89, CWE-943; Sequelize CVE-2023-25813)', () => {
    let titles: string[];
    beforeAll(async () => {
      titles = (await target.rows('select title from item order by id')).map(({ title }) => String(title));
    });
    const inList = (text: string) => text.replaceAll(/[\\,]/g, (letter) => `\\${letter}`);
    const same = (left: string, right: string) => left.toLowerCase().includes(right.toLowerCase());

    test.each(hostile)('%j', async (text) => {
      const cases: [string, string, (title: string) => boolean][] = [
        ['title', text, (title) => title === text],
        ['title[ne]', text, (title) => title !== text],
        ['title[in]', `${inList(text)},nonsense`, (title) => title === text],
        ['title[contains]', text, (title) => same(title, text)],
        ['title[starts]', text, (title) => title.toLowerCase().startsWith(text.toLowerCase())],
        ['title[ends]', text, (title) => title.toLowerCase().endsWith(text.toLowerCase())],
        ['or[0][title]', text, (title) => title === text],
        ...(/\s/.test(text) ? [] : ([['q', text, (title: string) => same(title, text)]] as never[])),
      ];
      for (const [name, value, holds] of cases) {
        const { json, status, whole } = await get(`/item.json?items_per_page=200&fields=title&${query([name, value])}`);
        expect(status, whole).toBe(200);
        const found = json.results.map(({ title }: { title: string }) => title).toSorted();
        expect([name, found]).toEqual([name, titles.filter(holds).toSorted()]);
        expect(json.count).toBe(found.length);
      }
    });

    test('the table keeps all its rows', async () => {
      expect(titles).toHaveLength(hostile.length + 2);
      expect((await target.rows('select title from item')).length).toBe(titles.length);
    });

    test.each([
      ['id', ['', 'x', '1 or 1=1', '1;', '1.5', '0x1', '1e3', 'NaN', 'Infinity', '9'.repeat(30), '[object Object]', '__proto__']],
      ['id[in]', ['1,x', '1,,2', ',', '1 2', '(select 1)']],
      ['price[lt]', ['x', '1e400', '--1', "1'", '2147483648x']],
      ['made', ['x', '2026-02-30', '2026-13-01', 'now()', "2026-01-01'", '0', 'Infinity', '-infinity']],
      ['open', ['x', '1', '0', 'TRUE', 'null', 't', '']],
      ['kind', ['x', '', 'PAPER', 'toString', '__proto__', "paper'"]],
      ['data[exists]', ['x', '1', '']],
      ['title', ['\0', 'a\0b']],
      ['q', ['\0']],
    ])('%s rejects values that the column cannot hold (CWE-20)', async (name, values) => {
      for (const value of values) await refused(`/item.json?${query([name, value])}`);
      if (name === 'title' || name === 'q') return;
      for (const bytes of ['%ff', '%ed%a0%80', '%c0%80', '%']) await refused(`/item.json?${encodeURIComponent(name)}=${bytes}`);
    });
  });

  describe('excessive queries are rejected (CWE-770, CWE-1333)', () => {
    const nest = (depth: number) => `or[0]${'[or][0]'.repeat(depth - 1)}[title]=x`;
    test.each<[string, string]>([
      ['groups 3 deep', nest(3)],
      ['groups 40 deep', nest(40)],
      ['groups 400 deep', nest(400)],
      ['11 groups', Array.from({ length: 11 }, (_, index) => `or[${index}][title]=x`).join('&')],
      ['11 groups in each other', Array.from({ length: 11 }, (_, index) => `or[${index % 3}][or][${index}][title]=x`).join('&')],
      ['101 conditions', Array.from({ length: 101 }, (_, index) => `or[${index % 3}][title${index}]=x`).join('&')],
      ['nine words', `q=${Array.from({ length: 9 }, (_, index) => `a${index}`).join('+')}`],
      ['a thousand words', `q=${Array.from({ length: 1000 }, (_, index) => `a${index}`).join('+')}`],
      ['the same order 1000 times', `sort=${Array(1000).fill('title').join()}`],
      ['a group of a huge number', 'or[99999999999999999999][title]=x'],
    ])('%s', async (_, text) => {
      const start = performance.now();
      await refused(`/item.json?${text}`);
      expect(performance.now() - start).toBeLessThan(2000);
    });

    test.each<[string, string]>([
      ['a pattern of 3000 percent signs', `title[contains]=${'%25'.repeat(3000)}`],
      ['a list of 4000 values', `title[in]=${Array(4000).fill('x').join()}`],
      ['a list of 2000 numbers', `id[in]=${Array.from({ length: 2000 }, (_, index) => index + 1).join()}`],
      ['eight long words', `q=${Array(8).fill('ab'.repeat(200)).join('+')}`],
      ['the same field 1000 times', `fields=${Array(1000).fill('id').join()}`],
      ['groups 1500 deep', nest(1500)],
    ])('a query with %s is served or rejected quickly', async (_, text) => {
      const start = performance.now();
      const { status } = await get(`/item.json?${text}`);
      expect([200, 400, 414]).toContain(status);
      expect(performance.now() - start).toBeLessThan(3000);
    });
  });
});
