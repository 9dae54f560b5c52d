// The kinds of projects that a release is tried in: installs the packed package, then checks and starts an application with it.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);
const binOf = (name: string, file: string) => join(dirname(require.resolve(`${name}/package.json`)), file);

/** The program and arguments that install the packages of a project. */
const installers = {
  npm: ['npm', 'install', '--no-audit', '--no-fund', '--loglevel=error'],
  pnpm: [binOf('pnpm', 'bin/pnpm.mjs'), 'install', '--no-frozen-lockfile', '--ignore-scripts'],
  yarn: [binOf('@yarnpkg/cli-dist', 'bin/yarn.js'), 'install', '--no-immutable'],
} as const;

export interface ProjectKind {
  readonly name: string;
  readonly installer: keyof typeof installers;
  /** Whether the models are TypeScript, and `tsc` must find all types. */
  readonly typed: boolean;
  readonly module: 'esm' | 'commonjs';
  /** Whether the lowest versions of peer dependencies are installed. */
  readonly lowest: boolean;
}

export const projectKinds: readonly ProjectKind[] = [
  { name: 'npm-typescript', installer: 'npm', typed: true, module: 'esm', lowest: false },
  { name: 'npm-javascript', installer: 'npm', typed: false, module: 'esm', lowest: true },
  { name: 'npm-commonjs', installer: 'npm', typed: false, module: 'commonjs', lowest: false },
  { name: 'pnpm', installer: 'pnpm', typed: true, module: 'esm', lowest: false },
  { name: 'yarn', installer: 'yarn', typed: true, module: 'esm', lowest: false },
];

interface Manifest {
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, unknown>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** Writes the files of a project that uses the packed package. */
export function writeProject(directory: string, kind: ProjectKind, tarball: string, manifest: Manifest): void {
  const { peerDependencies, peerDependenciesMeta, devDependencies } = manifest;
  const peers = Object.entries(peerDependencies).filter(([name]) => !(name in peerDependenciesMeta));
  const version = (range: string) => (kind.lowest ? range.replace('^', '') : range);
  const isModule = kind.module === 'esm';
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  };
  const json = {
    name: `try-${kind.name}`,
    version: '1.0.0',
    private: true,
    ...(isModule && { type: 'module' }),
    dependencies: { declarest: `file:${tarball}`, ...Object.fromEntries(peers.map(([name, range]) => [name, version(range)])) },
    ...(kind.typed && { devDependencies: { '@types/node': devDependencies['@types/node'] } }),
  };
  write('package.json', JSON.stringify(json, null, 2));
  // Plug'n'Play is not supported
  write('.yarnrc.yml', 'nodeLinker: node-modules\nenableTelemetry: false\nenableGlobalCache: false\n');
  write('config/routes.yaml', "app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }\n");
  const api = '{ class: Note, base_path: /note, actions: { _index: { methods: { GET: true, POST: true } } } }';
  write('config/app_main.yaml', `app_main:\n  database: { url: 'sqlite:notes.db' }\n  apis:\n    note: ${api}\n`);
  const ending = kind.typed ? 'ts' : isModule ? 'js' : 'mjs';
  write(
    `src/models/note.${ending}`,
    `import { defineEntity, p } from '@mikro-orm/core';
export const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary().groups('read'), text: p.string().groups('read', 'write') },
});
`,
  );
  const serve = `createServer({ directory: ${isModule ? 'import.meta.dirname' : '__dirname'} })`;
  const listen = (app: string) =>
    `${app}.then((app) => app.listen({ port: 0 })).then((url) => console.log('listening on ' + url));\n`;
  if (isModule) write(`server.${ending}`, `import { createServer } from 'declarest';\n${listen(serve)}`);
  else write('server.js', listen(`import('declarest').then(({ createServer }) => ${serve})`));
}

/** Installs the packages of a project, then checks types and declaration, starts it in both ways and sends requests. */
export async function tryProject(directory: string, { installer, module, typed }: ProjectKind): Promise<void> {
  const [program, ...args] = installers[installer];
  if (program === 'npm') run(directory, program, args);
  else run(directory, process.execPath, [program, ...args]);
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node', '--ignoreConfig'];
  if (typed) run(directory, process.execPath, [binOf('typescript', 'bin/tsc'), ...options, 'server.ts', 'src/models/note.ts']);
  const command = join(directory, 'node_modules', 'declarest', 'bin', 'declarest.js');
  run(directory, process.execPath, [command, 'check']);
  await tryServer(directory, [command, 'serve', '--port', '0']);
  await tryServer(directory, [typed ? 'server.ts' : 'server.js']);
  if (module === 'commonjs') run(directory, process.execPath, ['-e', "import('declarest').then(({ Voter }) => new Voter())"]);
}

/** Installs create-declarest, creates an application that uses the packed package, and runs the checks that its users run first. */
export function tryCreator(directory: string, creator: string, tarball: string): void {
  const tools = join(directory, 'creator');
  mkdirSync(tools);
  writeFileSync(join(tools, 'package.json'), '{ "private": true }');
  run(tools, 'npm', ['install', creator, '--no-audit', '--no-fund', '--loglevel=error']);
  const command = join(tools, 'node_modules', 'create-declarest', 'create-declarest.js');
  run(tools, process.execPath, [command, 'created', '--package-manager', 'npm', '--declarest', tarball, '--install']);
  const created = join(tools, 'created');
  for (const script of ['check', 'test']) run(created, 'npm', ['run', script]);
}

function run(cwd: string, program: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8', env: environment() });
  if (status !== 0) throw new Error(`${[program, ...args].join(' ')} failed in ${cwd}:\n${stdout}${stderr}${error ?? ''}`);
}

/** Without the settings that npm passes to scripts, which other package managers would read. */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_(config|package|lifecycle)_/i.test(name));
  return { ...Object.fromEntries(kept), NODE_ENV: 'development' };
}

/** Starts a server, creates a row and reads it. */
async function tryServer(cwd: string, args: readonly string[]): Promise<void> {
  const server = spawn(process.execPath, args, { cwd, env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  const url = new Promise<string>((resolve, reject) => {
    for (const stream of [server.stdout, server.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
        const [, found] = /listening on (http:\S+)/.exec(printed) ?? [];
        if (found) resolve(found);
      });
    server.once('exit', () => reject(new Error(`${args.join(' ')} ended in ${cwd}:\n${printed}`)));
  });
  try {
    const body = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"text":"hello"}' };
    const created = await fetch(`${await url}/note.json`, body);
    const listed = await fetch(`${await url}/note.json`);
    const text = await listed.text();
    if (created.status !== 201 || !text.includes('"hello"'))
      throw new Error(`wrong responses in ${cwd}: ${created.status}, ${listed.status} ${text}\n${printed}`);
  } finally {
    server.removeAllListeners('exit');
    const ended = new Promise((resolve) => server.once('exit', resolve));
    if (server.exitCode === null && server.kill()) await ended;
  }
}
