import type { Measurement } from './measure.ts';
import type { Start } from './rounds.ts';
import { pairedRatios, type Spread, spreadOf } from './statistics.ts';
import { type WorkName, works } from './works.ts';

type Figure = 'rate' | 'cpu' | 'boot' | 'memory';

/** A row of the table: a ratio of two contestants, and the bound that it must meet. */
export interface Target {
  readonly title: string;
  readonly figure: Figure;
  readonly ours: readonly [contestant: string, work: string];
  /** One contestant, or several of which the best counts. If empty, the figure itself is compared, not a ratio. */
  readonly theirs: readonly (readonly [contestant: string, work: string])[];
  readonly least?: number;
  readonly most?: number;
}

export interface Verdict extends Target {
  readonly ratio: Spread;
  readonly rounds: number;
  readonly met: boolean | null;
}

/** The baseline. It has pipelining, because hand-written code can use that too. */
const hand = 'fastify-pg';
const pooled = 'fastify-pg-pooled';
const onPg = 'declarest-pg';
const onSqlite = 'declarest-sqlite';
const frameworks = ['mikro-orm-pg', 'nest', 'feathers', 'loopback'];

function against(title: string, ours: Target['ours'], work: string, least: number, other = hand): Target {
  return { title, figure: 'rate', ours, theirs: [[other, work]], least };
}

function cpu(title: string, ours: Target['ours'], work: string, most: number): Target {
  return { title: `${title}: CPU per request`, figure: 'cpu', ours, theirs: [[hand, work]], most };
}

function peers(ours: Target['ours'], work: string): Target {
  return {
    title: `${work}: the best of the frameworks`,
    figure: 'rate',
    ours,
    theirs: frameworks.map((name) => [name, work] as const),
    least: 3,
  };
}

/** Declarest against hand-written code that does the same checks, on both databases. */
function pairs(data: 'example' | 'tenant', names: readonly WorkName[], least: number): Target[] {
  return names.flatMap((work) =>
    ['pg', 'sqlite'].map((short) => {
      const title = `${short === 'sqlite' ? 'SQLite ' : ''}${work}: ${works[work].title}`;
      return against(title, [`declarest-${data}-${short}`, work], work, least, `${data}-by-hand-${short}`);
    }),
  );
}

export const targets: readonly Target[] = [
  against('E: one entity with an embedded to-one', [onPg, 'E'], 'E', 1.1),
  cpu('E', [onPg, 'E'], 'E', 0.85),
  against('LF: page of 20 of 1,000, fixed condition', [`${onPg}-members`, 'LF'], 'LF', 1.3),
  cpu('LF', [`${onPg}-members`, 'LF'], 'LF', 0.65),
  against('LFU: restricted by customizeQuery that looks at the user', [`${onPg}-guarded`, 'LFU'], 'LFU', 0.9),
  against('LFP: restricted by customizeQuery that looks at the path', [onPg, 'LFP'], 'LFP', 0.9),
  against('LS: filtered and sorted, of 100,000', [onPg, 'LS'], 'LS', 0.95),
  against('L: page of 20 of 100,000, random pages', [onPg, 'L'], 'L', 10),
  against('LN: the same among the first ten pages', [onPg, 'LN'], 'LN', 10),
  against('page 50,000 of 2,000,000 rows by links, against page 1', [onPg, 'page 50,000'], 'page 1', 0.8, onPg),
  against('LM: page with an embedded to-many', [onPg, 'LM'], 'LM', 1.2),
  against('G: counts by group over 100,000, bare SQL', [onPg, 'G'], 'G', 0.83),
  against('SQLite G', [onSqlite, 'G'], 'G', 0.83, 'http-sqlite'),
  against("W: add and remove, the model's own methods", [onPg, 'WO'], 'W', 0.4),
  against('W: add and remove, declared association', [onPg, 'W'], 'W', 0.9),
  against('P: patch one field', [onPg, 'P'], 'P', 0.8),
  against('SQLite E', [onSqlite, 'E'], 'E', 0.6, 'http-sqlite'),
  against('SQLite LF', [`${onSqlite}-members`, 'LF'], 'LF', 1, 'http-sqlite'),
  against('SQLite LFP', [onSqlite, 'LFP'], 'LFP', 1, 'http-sqlite'),
  against('SQLite L', [onSqlite, 'L'], 'L', 1, 'http-sqlite'),
  against('SQLite LM', [onSqlite, 'LM'], 'LM', 1, 'http-sqlite'),
  against("SQLite W, the model's own methods", [onSqlite, 'WO'], 'W', 0.5, 'http-sqlite'),
  against('SQLite W, declared association', [onSqlite, 'W'], 'W', 0.5, 'http-sqlite'),
  against('SQLite P', [onSqlite, 'P'], 'P', 0.5, 'http-sqlite'),
  ...['E', 'L', 'LM', 'W', 'P'].flatMap((work) => [
    against(`${work} with a token and a voter, against without`, [`${onPg}-guarded`, work], work, 0.7, onPg),
    against(`SQLite ${work} with a token and a voter, against without`, [`${onSqlite}-guarded`, work], work, 0.7, onSqlite),
  ]),
  ...['E', 'LN', 'LM', 'P'].flatMap((work) => [
    against(`${work} with two groups by role, against without`, [`${onPg}-grouped`, work], work, 0.9, `${onPg}-signed`),
    against(
      `SQLite ${work} with two groups by role, against without`,
      [`${onSqlite}-grouped`, work],
      work,
      0.9,
      `${onSqlite}-signed`,
    ),
  ]),
  ...['E', 'L', 'LFP', 'LM', 'W', 'P'].map((work) => peers([onPg, work], work)),
  peers([`${onPg}-members`, 'LF'], 'LF'),
  ...['E', 'L', 'LM', 'W', 'P'].map((work) =>
    against(`SQLite ${work}: Fastify + MikroORM`, [onSqlite, work], work, 3, 'mikro-orm-sqlite'),
  ),
  ...pairs('example', ['XE', 'XL', 'XC', 'XLC', 'XP', 'XW'], 0.6),
  ...pairs('tenant', ['TE', 'TLF', 'TLM', 'TX', 'TP', 'TW', 'TWO', 'TC'], 0.8),
  { title: 'start to first answer, example application', figure: 'boot', ours: ['example', ''], theirs: [[hand, '']], most: 1.5 },
  { title: 'memory after load, example application', figure: 'memory', ours: ['example', ''], theirs: [[hand, '']], most: 1.3 },
  { title: 'memory after all works', figure: 'memory', ours: [onPg, 'rounds'], theirs: [[hand, 'rounds']], most: 1.3 },
  { title: '200 APIs: milliseconds to first answer', figure: 'boot', ours: ['apis-200', ''], theirs: [], most: 1500 },
  against('200 APIs against one', ['apis-200', 'E'], 'E', 0.95, 'apis-1'),
  ...['E', 'L', 'LN', 'LFP', 'LM', 'W', 'P'].map((work): Target => {
    return {
      title: `${work} against Fastify + pg without pipelining`,
      figure: 'rate',
      ours: [onPg, work],
      theirs: [[pooled, work]],
    };
  }),
  ...['R401', 'R403', 'R404', 'R405'].map((work): Target => {
    return {
      title: `${work} against a 200`,
      figure: 'rate',
      ours: [`${onPg}-guarded`, work],
      theirs: [[`${onPg}-guarded`, 'E']],
    };
  }),
];

export interface Figures {
  readonly measurements: readonly Measurement[];
  /** Of servers that were started only to measure their startup. */
  readonly starts: readonly Start[];
  /** Of servers that have run all workloads. */
  readonly startsOfRounds: readonly Start[];
}

/** The result of every target that has figures of both sides. */
export function judge(figures: Figures): Verdict[] {
  return targets.flatMap((target) => {
    const ours = byRound(figures, target.figure, target.ours);
    const best = target.theirs
      .map((theirs) => pairedRatios(ours, byRound(figures, target.figure, theirs)))
      .filter((ratios) => ratios.length > 0)
      .sort((a, b) => spreadOf(a).median - spreadOf(b).median)[0];
    const ratios = target.theirs.length === 0 ? [...ours.values()] : (best ?? []);
    if (ratios.length === 0) return [];
    const ratio = spreadOf(ratios);
    const { least, most } = target;
    const met =
      least === undefined && most === undefined ? null : ratio.median >= (least ?? 0) && ratio.median <= (most ?? Infinity);
    return [{ ...target, ratio, rounds: ratios.length, met }];
  });
}

function byRound(figures: Figures, figure: Figure, [contestant, work]: Target['ours']): Map<number, number> {
  if (figure === 'boot' || figure === 'memory') {
    const starts = work === 'rounds' ? figures.startsOfRounds : figures.starts;
    return new Map(starts.filter((start) => start.contestant === contestant).map((start) => [start.round, start[figure]]));
  }
  const found = figures.measurements.filter((each) => each.contestant === contestant && each.work === work);
  return new Map(found.map((each) => [each.round, each[figure]]));
}
