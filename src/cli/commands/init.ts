import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, relative, resolve } from 'node:path';
import { didYouMean, listed } from '../../declaration/suggest.ts';
import { packageVersion } from '../../package-root.ts';
import { type Command, type Given, isGiven, optionValue } from '../command.ts';
import { ApplicationFailure, CallFailure } from '../failure.ts';
import { type Choices, databaseNames, databases, generatedFiles } from '../init/generated-files.ts';
import { checkedPackageName, modelNames, packageNameOf } from '../init/names.ts';
import { callingManager, type PackageManagerName, packageManager, packageManagers } from '../init/package-managers.ts';
import { writeNewFiles } from '../init/write-files.ts';
import { type Io, say } from '../io.ts';

const managers = Object.keys(packageManagers) as PackageManagerName[];

export default {
  details: [
    'Generates a model, a voter, configuration, a seed, tests, a migration, and files for Docker, continuous integration and coding agents.',
    'Existing files are never overwritten: if one is in the way, nothing is written.',
    'On a terminal, the command asks for what no option sets. Elsewhere, it never asks.',
  ],
  positionals: [{ name: 'dir', doc: 'The directory of the new application. Default: the current directory.' }],
  options: {
    name: { value: 'NAME', doc: 'The name of the package. Default: the name of the directory.' },
    model: { value: 'NAME', doc: 'The name of the model, such as BlogPost. Default: Note.' },
    database: {
      value: 'SYSTEM',
      doc: 'The database in development: sqlite or postgresql. Default: sqlite. Production uses PostgreSQL.',
    },
    'package-manager': { value: 'NAME', doc: 'npm, pnpm or yarn. Default: the one that started this command, or npm.' },
    declarest: {
      value: 'SPEC',
      doc: 'The version of Declarest in package.json, or the path of a .tgz file. Default: the version of this command.',
    },
    install: { doc: 'Install the dependencies.' },
    'no-install': { doc: 'Do not install the dependencies. The default without a terminal.' },
  },
  exitCodes: { 0: 'success', 1: 'the installation of dependencies failed', 2: 'wrong command line, or files are in the way' },
  example: 'declarest init blog --model BlogPost',

  async run(given, io) {
    if (isGiven(given, 'install') && isGiven(given, 'no-install'))
      throw new CallFailure('--install and --no-install exclude each other; give one of them');
    const dir = given.positionals.dir ?? (await answer(io, 'Directory', '.'));
    const directory = resolve(io.cwd, dir);
    const choices = await choicesOf(given, io, directory);
    const installs = await wantsInstall(given, io, choices.manager);
    const shown = relative(io.cwd, directory) || 'the current directory';
    writeNewFiles(directory, shown, generatedFiles(choices));
    say(io.stdout, `created ${choices.name} in ${shown}`);
    if (installs) await install(choices.manager, directory);
    io.stdout.write(nextSteps(choices, { folder: relative(io.cwd, directory), installs }));
    return 0;
  },
} satisfies Command;

async function choicesOf(given: Given, io: Io, directory: string): Promise<Choices> {
  const name = optionValue(given, 'name');
  const calling = callingManager(io.env);
  const manager = oneOf('package-manager', optionValue(given, 'package-manager') ?? calling.name, managers);
  return {
    name: name === undefined ? packageNameOf(basename(directory)) : checkedPackageName(name),
    model: modelNames(optionValue(given, 'model') ?? (await answer(io, 'Model', 'Note'))),
    database: oneOf(
      'database',
      optionValue(given, 'database') ?? (await answer(io, 'Database in development, sqlite or postgresql', 'sqlite')),
      databaseNames,
    ),
    manager,
    managerVersion: manager === calling.name ? calling.version : undefined,
    declarest: specOf(optionValue(given, 'declarest'), io, directory),
    time: new Date(),
  };
}

/** The answer on a terminal, or the default. */
async function answer(io: Io, question: string, byDefault: string): Promise<string> {
  return (await io.ask?.(`${question} [${byDefault}]: `))?.trim() || byDefault;
}

function oneOf<Value extends string>(option: string, given: string, allowed: readonly Value[]): Value {
  const found = allowed.find((value) => value === given);
  if (found) return found;
  const meant = didYouMean(given, allowed);
  throw new CallFailure(`--${option} must be one of ${listed(allowed)}, not "${given}"${meant && `;${meant}`}`);
}

/** A path is relative to the working directory in a call, and to the application in package.json. */
function specOf(given: string | undefined, { cwd }: Io, directory: string): string {
  if (given === undefined) return `^${packageVersion()}`;
  const path = resolve(cwd, given.replace(/^file:/, ''));
  if (/^file:|\.tgz$|^\.{0,2}\//.test(given) && !existsSync(path)) throw new CallFailure(`--declarest: ${given} does not exist`);
  return /^file:|[./\\]/.test(given) && existsSync(path) ? `file:${relative(directory, path).replaceAll('\\', '/')}` : given;
}

async function wantsInstall(given: Given, io: Io, manager: PackageManagerName): Promise<boolean> {
  if (isGiven(given, 'install')) return true;
  if (isGiven(given, 'no-install') || !io.ask) return false;
  return /^y/i.test(await answer(io, `Run "${packageManager(manager).install.join(' ')}" now`, 'yes'));
}

async function install(manager: PackageManagerName, directory: string): Promise<void> {
  const { install: words } = packageManager(manager);
  const [program, ...args] = words as [string, ...string[]];
  // on Windows, package managers are scripts, which need a shell
  const child = spawn(program, args, { cwd: directory, stdio: 'inherit', shell: process.platform === 'win32' });
  const trouble = await new Promise<string | null>((done) => {
    child.once('error', (error) => done(error.message));
    child.once('exit', (code, signal) =>
      done(code === 0 ? null : `it ended with ${code === null ? signal : `exit code ${code}`}`),
    );
  });
  if (trouble !== null)
    throw new ApplicationFailure(
      `"${words.join(' ')}" failed: ${trouble}. The files were written; install the dependencies yourself`,
    );
}

function nextSteps({ database, manager, model }: Choices, { folder, installs }: { folder: string; installs: boolean }): string {
  const { exec, install: words, run } = packageManager(manager);
  const first = [
    ...(folder === '' ? [] : [`cd ${forShell(folder)}`]),
    ...(installs ? [] : [words.join(' ')]),
    ...databases[database].firstSteps,
    `${run} dev`,
  ];
  const then = [
    `TOKEN=$(${exec} declarest token --sub ed --roles ROLE_EDITOR)`,
    `curl http://127.0.0.1:3000/api/${model.kebab}.json -H "Authorization: Bearer $TOKEN"`,
  ];
  const lines = (commands: readonly string[]) => commands.map((line) => `  ${line}\n`).join('');
  return `
Next steps:

${lines(first)}
Then open http://127.0.0.1:3000/explorer to edit data, http://127.0.0.1:3000/docs to read about the API,
or in another terminal:

${lines(then)}
README.md has the other commands, and how to go to production.
`;
}

/** A folder as a word of a command, which needs quotes if it has other characters than most. */
function forShell(folder: string): string {
  const path = folder.startsWith('-') ? `./${folder}` : folder;
  return /^[\p{L}\p{N}\p{M}_./\\:@+-]*$/u.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
