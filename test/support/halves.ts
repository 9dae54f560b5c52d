// Divides tables of cases between the databases: each case of a `test.each` inside a suite of one database runs on one of the
// two. The seed decides on which, so it changes with the sources. `TEST_ALL=1` runs every case on both.
import { TestRunner, test as vitestTest } from 'vitest';
import { seed } from './random.ts';
import { selectedDatabases } from './selected-databases.ts';

const dividesTables = selectedDatabases().length > 1 && !process.env.TEST_ALL;

/** The number of cases that suites have registered so far, by database and names of the suites. */
const registered = new Map<string, number>();

interface NamedSuite {
  readonly name: string;
  readonly suite?: NamedSuite | undefined;
}

function suiteNames(): string[] {
  const names: string[] = [];
  for (let suite = TestRunner.getCurrentSuite().suite as NamedSuite | undefined; suite; suite = suite.suite)
    names.push(suite.name);
  return names;
}

/** The cases of a table that run in the current suite. */
export function half<Case>(cases: readonly Case[]): readonly Case[] {
  const names = suiteNames().join(' > ');
  const database = /\b(sqlite|postgresql)\b/.exec(names)?.[0];
  if (!dividesTables || !database || cases.length < 2) return cases;
  const key = `${database} ${names.replaceAll(/\b(sqlite|postgresql)\b/g, '')}`;
  const start = registered.get(key) ?? 0;
  registered.set(key, start + cases.length);
  const turn = seed + (database === 'sqlite' ? 0 : 1);
  return cases.filter((_, index) => (start + index + turn) % 2 === 0);
}

/** `test` of Vitest, whose tables are divided between the databases. */
export const test = new Proxy(vitestTest, {
  get: (target, name) =>
    name === 'each'
      ? (cases: readonly unknown[], ...rest: unknown[]) =>
          target.each(...([half(cases), ...rest] as Parameters<typeof target.each>))
      : Reflect.get(target, name, target),
});
