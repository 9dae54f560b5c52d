import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { AccessMatrix } from '../../inspect/compare/matrix.ts';
import { type Command, type Given, isGiven, optionValue } from '../command.ts';
import { ApplicationFailure, CallFailure, messageOf } from '../failure.ts';
import { type Io, outputStyleOf, say } from '../io.ts';
import { openApplication } from '../open-application.ts';
import { comparisonMarkdown, matrixMarkdown } from '../text/access-markdown.ts';
import { comparisonLines, matrixLines } from '../text/access-text.ts';

const formats = ['text', 'markdown', 'json'] as const;
type Format = (typeof formats)[number];

export default {
  details: [
    'Roles joined by "+" are all required, each decided by the voters in parentheses. PUBLIC means that no role is required.',
    'FILE defaults to access.baseline in the directory of the application. Commit it: when access changes, save it again, and reviewers see the changed lines.',
    'No database is opened.',
  ],
  options: {
    json: { doc: 'Print JSON; the same as --format json.' },
    format: { value: 'FORMAT', doc: 'The output format: text, markdown or json. Default: text.' },
    save: { value: 'FILE', optional: true, doc: 'Write the baseline for --diff: sorted, one fact per line.' },
    diff: { value: 'FILE', optional: true, doc: 'Print the access that was opened or closed since the baseline was saved.' },
  },
  exitCodes: {
    0: 'success; with --diff: nothing was opened',
    1: 'with --diff: something was opened; otherwise: error in the application',
    2: 'wrong command line, or the baseline is missing',
  },
  example: 'declarest access my-application --diff',

  async run(given, io) {
    const format = formatOf(given);
    const baseline = baselineOf(given, io);
    const application = await openApplication(baseline.dir, io);
    const { accessMatrix } = await import('../../inspect/compare/matrix.ts');
    const matrix = accessMatrix(application);
    const { baselineName } = await import('../../inspect/compare/baseline.ts');
    const file = baseline.file === '' ? join(application.directory, baselineName) : resolve(io.cwd, baseline.file);
    const shown = baseline.file || join(baseline.dir ?? '', baselineName);
    if (isGiven(given, 'save')) return save(matrix, file, shown, io);
    const remedy = ['declarest access', baseline.dir, '--save', baseline.file].filter(Boolean).join(' ');
    if (isGiven(given, 'diff')) return diff(matrix, { file, shown, remedy }, format, io);
    if (format === 'json') say(io.stdout, JSON.stringify(matrix, null, 2));
    else if (format === 'markdown') io.stdout.write(matrixMarkdown(matrix));
    else for (const line of matrixLines(matrix, outputStyleOf(io.stdout, io.env))) say(io.stdout, line);
    return 0;
  },
} satisfies Command;

function formatOf(given: Given): Format {
  const requested = optionValue(given, 'format') ?? (isGiven(given, 'json') ? 'json' : 'text');
  const format = formats.find((name) => name === requested);
  if (!format) throw new CallFailure(`--format must be one of ${formats.join(', ')}, not "${requested}"`);
  if (isGiven(given, 'json') && format !== 'json')
    throw new CallFailure('--json and --format exclude each other; use one of them');
  return format;
}

/** The directory of the application and the baseline file. A directory after `--diff` or `--save` is the application's. */
function baselineOf(given: Given, { cwd }: Io): { dir: string | undefined; file: string } {
  if (isGiven(given, 'save') && isGiven(given, 'diff'))
    throw new CallFailure('--save and --diff exclude each other; use one of them');
  const file = optionValue(given, 'save') ?? optionValue(given, 'diff') ?? '';
  const { dir } = given.positionals;
  const isDirectory = file !== '' && statSync(resolve(cwd, file), { throwIfNoEntry: false })?.isDirectory() === true;
  if (isDirectory && dir !== undefined) throw new CallFailure(`${file} is a directory; name the file of the baseline`);
  return isDirectory ? { dir: file, file: '' } : { dir, file };
}

async function save(matrix: AccessMatrix, file: string, shown: string, io: Io): Promise<0> {
  const { baselineText } = await import('../../inspect/compare/baseline.ts');
  const text = baselineText(matrix);
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new ApplicationFailure(`the baseline ${shown} cannot be written: ${messageOf(error)}`, error);
  }
  say(io.stdout, `saved ${text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length} facts to ${shown}`);
  return 0;
}

async function diff(
  matrix: AccessMatrix,
  { file, shown, remedy }: { file: string; shown: string; remedy: string },
  format: Format,
  io: Io,
): Promise<0 | 1> {
  const { compareAccess } = await import('../../inspect/compare/compare.ts');
  const baseline = await readBaselineFile(file, shown, remedy);
  const comparison = compareAccess(baseline, matrix);
  const { production } = matrix.settings;
  if (baseline.production !== production) {
    const [then, now] = production ? ['outside', 'in'] : ['in', 'outside'];
    say(io.stderr, `note: ${shown} was saved ${then} production (NODE_ENV=production), and this is ${now} it`);
  }
  if (format === 'json') say(io.stdout, JSON.stringify(comparison, null, 2));
  else if (format === 'markdown') io.stdout.write(comparisonMarkdown(comparison, shown, remedy));
  else for (const line of comparisonLines(comparison, shown, remedy, outputStyleOf(io.stdout, io.env))) say(io.stdout, line);
  return comparison.opened.length > 0 ? 1 : 0;
}

async function readBaselineFile(file: string, shown: string, remedy: string) {
  const { readBaseline } = await import('../../inspect/compare/baseline.ts');
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const what = missing ? `the baseline ${shown} does not exist` : `the baseline ${shown} cannot be read: ${messageOf(error)}`;
    throw new CallFailure(`${what}; create it with: ${remedy}`);
  }
  try {
    return readBaseline(text);
  } catch (error) {
    throw new CallFailure(
      `${shown} is not a valid baseline: ${messageOf(error)}; restore it, or create a new one with: ${remedy}`,
    );
  }
}
