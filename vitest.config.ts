import { availableParallelism } from 'node:os';
import type { Plugin } from 'vite';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import './test/support/compile-cache.ts';
import { seed, seedVariable } from './test/support/random.ts';
import { selectedDatabases } from './test/support/selected-databases.ts';
import { notUnitTests, unitTests } from './test/support/unit-tests.ts';

const cores = Math.max(2, availableParallelism());

/** Files that take long for their size. */
const long =
  /\/(chaos|hosts)\/|\/attacks\/(1-hidden|8-misconf)|\/browser\/|\/change\/(compiled-writes|idempotency)|\/cli\/(check|dev|workers)|\/database\/column-fit|\/docs\/(concepts|how-to-code|snippets)|\/engine\/(calls|pairs)|\/explorer\/(generated|hostile)|\/formats\/|\/groups\/oracle|\/pull\/sample|\/query\/compiled-restrictions|\/spec\/(1-app|3-cond|4-add|6-asking\.|7-access|8-errors)|\/store\/(contract|method-oracle|statement-counts|unusual|version-oracle)|\/traffic\/(long|responses)|access-suite|courses\/test|package\.test/;

/**
 * Files that mostly wait, for processes that they start one after another. Each runs beside files that keep a core busy, and is started
 * early, because it takes long.
 */
const waiting =
  /\/browser\/docs-site|\/cli\/(decorated-models|dev|init-application|lean-start|migrate-processes|odd-input|schema)\.test|\/docs\/(examples|how-to|migrations)\.test|\/hosts\/runtimes|\/openapi\/generated-clients/;

/**
 * In each project, long files come first, so that the last one is not waited for alone, and in turn with files that wait. By themselves
 * files are ordered by their size. A process that files share ends before a file of another project, so the projects run one after
 * another, and the one with the most short files is the last that is not about time.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const found = Map.groupBy(await super.sort(files), ({ project }) => project.name);
    const place = ([project]: readonly [string, unknown]) => projects.findIndex(({ test }) => test.name === project);
    return [...found].toSorted((a, b) => place(a) - place(b)).flatMap(([, own]) => inTurn(own));
  }
}

function inTurn(files: readonly TestSpecification[]): TestSpecification[] {
  const kindOf = ({ moduleId }: TestSpecification) =>
    waiting.test(moduleId) ? 'waiting' : long.test(moduleId) ? 'long' : 'short';
  const { waiting: slow = [], long: first = [], short = [] } = Object.groupBy(files, kindOf);
  const computing = [...first, ...short];
  const count = Math.max(slow.length, computing.length);
  return Array.from({ length: count }, (_, index) => [slow[index], computing[index]])
    .flat()
    .filter((file) => file !== undefined);
}

/**
 * Folders whose files leave nothing behind in their process, and so share one: most of the time of a short file is loading the code
 * that it tests. Other files have a process each, above all those that look at memory, time, or loaded modules.
 */
const sharing = [
  'access',
  'actions',
  'attacks',
  'change',
  'cli',
  'database',
  'declaration',
  'dialect',
  'docs',
  'explorer',
  'groups',
  'inspect',
  'model',
  'openapi',
  'pull',
  'query',
  'response',
  'route',
  'scripts',
  'serialization',
  'spec',
  'store',
  'support',
  'telemetry',
].map((name) => `test/${name}/**/*.test.ts`);

/** Files of these folders that replace modules, set what is global to a process, measure, or wait for processes. */
const apart = [
  'test/access/development-key.test.ts',
  'test/actions/replay.test.ts',
  'test/cli/database-away.test.ts',
  'test/cli/dev.test.ts',
  'test/cli/lean-start.test.ts',
  'test/cli/serve.test.ts',
  'test/cli/workers.test.ts',
  'test/declaration/type-cost.test.ts',
  'test/inspect/access-suite-rejections.test.ts',
  'test/inspect/{access-suite,access-suite-groups}.test.ts',
  'test/telemetry/tracing.test.ts',
];

/**
 * Files that show that no line goes untested which decides who may see what. V8 runs code half as slow again while it counts, so the other
 * files count only towards the coverage of everything, for which `npm run coverage` asks.
 */
const counted = [
  'test/access/**/*.test.ts',
  'test/attacks/{2-identities,4-callers,10-key-sets}.test.ts',
  'test/model/**/*.test.ts',
  'test/spec/7-*.test.ts',
  'test/telemetry/**/*.test.ts',
];
const countsAll = process.env.DECLAREST_COVERAGE === 'all';

/**
 * Files about time: timeouts, fair shares, several processes. They run after the others, which keep every core busy, and a test that fails
 * is repeated twice, because another tenant of the machine can take the processor away for seconds.
 */
const timed = [
  'test/attacks/{4-fairness,4-rate-table,4-resources,10-consumption}.test.ts',
  'test/chaos/**/*.test.ts',
  'test/cli/{database-away,scale-out,serve,workers}.test.ts',
  'test/dialect/postgresql/{pgbouncer,pgpool,replica,replica-reads}.test.ts',
  'test/dialect/sqlite/{reader-threads,routed-reads,stoppable-connection}.test.ts',
  'test/explorer/explain.test.ts',
  'test/formats/**/*.test.ts',
  'test/query/long-reads.test.ts',
  'test/telemetry/{tracing,worker-metrics}.test.ts',
  'test/traffic/{overload,responses}.test.ts',
];

/** Files about time that share a process. */
const timedTogether = [
  'test/attacks/{2-guessing,8-caching}.test.ts',
  'test/traffic/{compression,cors,gate,health,limits,protocol,rate-limit,request-id}.test.ts',
];
const allTimed = [...timed, ...timedTogether];

/** Files that share a process and its browser. */
const browsers = ['test/browser/{cors,pages}.test.ts', 'test/explorer/**/*.browser.test.ts'];

/** Files that share a process, although their folder does not. */
const mixed = ['test/engine/**/*.test.ts', 'examples/*/test/**/*.test.ts'];

/** Every test, in projects that differ in how files share processes, and in whether they count towards coverage. They run in this order. */
const projects = [
  {
    extends: true as const,
    test: {
      name: 'alone',
      include: ['test/**/*.test.ts'],
      exclude: [...configDefaults.exclude, ...sharing, ...mixed, ...browsers, ...allTimed],
    },
  },
  {
    extends: true as const,
    test: {
      name: 'apart',
      include: apart.filter((file) => !file.startsWith('test/access/')),
      exclude: [...configDefaults.exclude, ...allTimed],
    },
  },
  { extends: true as const, test: { name: 'counted apart', include: apart.filter((file) => file.startsWith('test/access/')) } },
  { extends: true as const, test: { name: 'browsers', include: browsers, isolate: false, retry: 2 } },
  {
    extends: true as const,
    test: { name: 'counted', include: counted, exclude: [...configDefaults.exclude, ...apart, ...allTimed], isolate: false },
  },
  {
    extends: true as const,
    test: {
      name: 'together',
      include: [...sharing, ...mixed],
      exclude: [...configDefaults.exclude, ...apart, ...counted, ...browsers, ...allTimed],
      isolate: false,
    },
  },
  { extends: true as const, test: { name: 'timed', include: timed, retry: 2, sequence: { groupOrder: 1 } } },
  {
    extends: true as const,
    test: { name: 'timed together', include: timedTogether, isolate: false, retry: 2, sequence: { groupOrder: 1 } },
  },
];

/** Coverage is an option of the whole run; only here a project can be left out of it. */
const coverageOfProjects: Plugin = {
  name: 'coverage-of-projects',
  configureVitest({ project }) {
    const isCounted = countsAll || project.name.startsWith('counted');
    if (!isCounted) project.config.coverage = { ...project.config.coverage, enabled: false };
  },
};

/** What is left without any database. */
const unit = {
  extends: true as const,
  test: { name: 'unit', include: [...unitTests], exclude: [...configDefaults.exclude, ...notUnitTests] },
};

process.env[seedVariable] = String(seed);
if (!process.env.VITEST_WORKER_ID) console.log(`random tests begin at ${seedVariable}=${seed}`);

export default defineConfig({
  plugins: [coverageOfProjects],
  test: {
    projects: selectedDatabases().length === 0 ? [unit] : projects,
    globalSetup: ['test/support/run-directory.ts', 'test/support/postgres.ts'],
    setupFiles: ['test/support/compile-cache.ts', 'test/support/random.ts', 'test/support/documents/watch-responses.ts'],
    runner: 'test/support/divide-tests.ts',
    includeTaskLocation: true,
    tags: [{ name: 'divided', description: 'runs on one of two databases; the seed decides on which' }],
    pool: 'forks',
    // the default leaves one core idle, which of two is half; and many tests wait for timers and processes
    maxWorkers: cores + 1,
    sequence: { sequencer: LongestFirst },
    // for what hangs; other checkouts may keep the machine busy
    testTimeout: 300_000,
    // a connection to the database may time out while the machine stands still
    retry: 1,
    hookTimeout: 300_000,
    coverage: {
      provider: 'v8',
      include: countsAll ? ['src/**/*.ts'] : ['src/access/**/*.ts', 'src/model/groups*.ts'],
      reporter: ['text-summary', 'json-summary', 'html'],
      thresholds: {
        ...(countsAll && { lines: 95 }),
        // Who may see what is decided here: no line of it goes untested.
        'src/access/**': { lines: 100 },
        'src/model/groups*.ts': { lines: 100 },
      },
    },
  },
});
