import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApplicationOptions, type CodeOptions, loadApplication } from '../../src/application.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { clinicModels } from '../spec/fixtures/clinic.ts';
import { chartModels } from '../spec/fixtures/clinic-chart.ts';
import { library } from '../spec/fixtures/library.ts';
import { everything, security } from '../spec/fixtures/use-application.ts';
import { zooInCode } from '../spec/fixtures/zoo.ts';

const run = promisify(execFile);
const packageFile = createRequire(import.meta.url).resolve('@redocly/cli/package.json');
const linter = join(dirname(packageFile), JSON.parse(readFileSync(packageFile, 'utf8')).bin.redocly);
const info = { title: 'linted', version: '1.0.0', license: { name: 'MIT', identifier: 'MIT' } };

/** Every model of a list that can have an API, each with one. */
function allOf(models: readonly { readonly meta?: { readonly embeddable?: boolean } }[]): CodeOptions {
  const own = models.filter((model) => !(model.meta?.embeddable ?? false));
  const apis = own.map((model, index) => ({
    name: `api_${index}`,
    class: model as never,
    base_path: `/api/${index}`,
    actions: everything,
  }));
  return { app_main: { apis, security }, models: models as never };
}

const applications: Readonly<Record<string, ApplicationOptions>> = {
  courses: { directory: join(import.meta.dirname, '../../examples/courses'), databaseUrl: 'sqlite::memory:' },
  zoo: zooInCode('sqlite::memory:'),
  library: { ...library, databaseUrl: 'sqlite::memory:' },
  clinic: { ...allOf(clinicModels as never), databaseUrl: 'sqlite::memory:' },
  charts: { ...allOf(chartModels as never), databaseUrl: 'sqlite::memory:' },
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'declarest-lint-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a strict linter reports no errors in the document of any application', async () => {
  const files: string[] = [];
  for (const [name, options] of Object.entries(applications)) {
    const application = await loadApplication(options);
    files.push(join(folder, `${name}.json`));
    writeFileSync(files.at(-1) as string, JSON.stringify(openApiDocument(application, info), null, 2));
    await application.mapper.close();
  }
  expect(await lint(files)).toEqual([]);
});

test('the linter reports errors in a broken document', async () => {
  const file = join(folder, 'wrong.json');
  writeFileSync(file, JSON.stringify({ openapi: '3.1.1', info, paths: { '/x': { get: { responses: {} } } } }));
  expect(await lint([file])).toContainEqual(expect.stringContaining('operation-operationId'));
});

/** What the linter objects to, by its strictest rules. */
async function lint(files: readonly string[]): Promise<string[]> {
  const args = [linter, 'lint', ...files, '--extends=recommended-strict', '--format=json', '--max-problems=1000'];
  // it would ask the world for a newer version of itself
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const { stdout } = await run(process.execPath, args, { cwd: folder, env, maxBuffer: 1e8 }).catch((error) => error);
  // a text of JSON for each file
  const reports: Report[] = stdout.split(/(?<=^\})/m).flatMap((text: string) => (text.trim() === '' ? [] : [JSON.parse(text)]));
  return reports.flatMap(({ problems }) =>
    problems.map(({ ruleId, message, location: [place] }) => `${place?.source.ref}${place?.pointer}: ${ruleId}: ${message}`),
  );
}

interface Report {
  readonly problems: readonly {
    readonly ruleId: string;
    readonly message: string;
    readonly location: readonly { readonly source: { readonly ref: string }; readonly pointer: string }[];
  }[];
}
