import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { command } from '../../scripts/command.ts';

/** One `$ command` of a console block, and the output that is shown below it. */
export interface Step {
  readonly command: string;
  readonly shown: string;
}

export function stepsOf(text: string): Step[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...lines] = part.trimEnd().split('\n');
      return { command, shown: lines.join('\n') };
    });
}

/** Whether an output is the one that is shown; `…` stands for anything, on a line of its own for any lines. */
export function matchesShown(shown: string, actual: string): boolean {
  const parts = shown.split('…').map((part) => part.replace(/[^\w\s]/g, '\\$&'));
  return new RegExp(`^${parts.join('[\\s\\S]*')}$`).test(actual);
}

/** Where documented commands are run: what the pages call `../notes` and port 3000 are others here. */
export class Console {
  readonly #directory: string;
  readonly #variables: Record<string, string>;
  readonly #options: { readonly cwd: string | undefined; readonly env: Record<string, string> };
  /** Servers that run, and their addresses, by the ports that the page has. */
  readonly #servers = new Map<string, ChildProcess>();
  readonly #urls = new Map<string, string>();

  constructor(
    directory: string,
    {
      cwd,
      env = {},
      url = '',
      variables = {},
    }: { cwd?: string; env?: Record<string, string>; url?: string; variables?: Record<string, string> } = {},
  ) {
    this.#directory = directory;
    this.#options = { cwd, env };
    if (url !== '') this.#urls.set('3000', url);
    this.#variables = { ...variables };
  }

  /** The output of a command, in the words of the page. JSON is laid out. */
  async run(command: string): Promise<string> {
    const assignment = /^(\w+)=\$\((.*)\)$/.exec(command);
    if (assignment) {
      this.#variables[assignment[1] as string] = (await this.run(assignment[2] as string)).trim();
      return '';
    }
    const [program, ...args] = wordsOf(command, this.#variables).map((word) => word.replaceAll('../notes', this.#directory));
    if (program === 'curl') return laidOut(await curl(args.map((word) => this.#atItsPlace(word))));
    if (program !== 'npx' || args[0] !== 'declarest') throw new Error(`the tests do not know how to run: ${command}`);
    return args[1] === 'serve' ? this.#serve(args.slice(1)) : this.#declarest(args.slice(1));
  }

  async close(): Promise<void> {
    for (const port of this.#servers.keys()) await this.#stop(port);
  }

  async #stop(port: string): Promise<void> {
    const server = this.#servers.get(port);
    if (!server) return;
    this.#servers.delete(port);
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill('SIGTERM');
    await ended;
  }

  #declarest(args: string[]): string {
    const { cwd, env } = this.#options;
    const { stdout, stderr } = spawnSync(process.execPath, [command, ...args], {
      cwd,
      encoding: 'utf8',
      env: environment(env),
    });
    return this.#inWordsOfThePage(stdout + stderr);
  }

  /** Starts a server; one that has its port already ends first. */
  async #serve(args: string[]): Promise<string> {
    const at = args.indexOf('--port');
    const port = at === -1 ? '3000' : (args[at + 1] as string);
    await this.#stop(port);
    const others = at === -1 ? args : args.toSpliced(at, 2);
    const { cwd, env } = this.#options;
    const server = spawn(process.execPath, [command, ...others, '--port', '0'], { cwd, env: environment(env) });
    this.#servers.set(port, server);
    const text = await outputUntil(server, /listening on (\S+)\n/);
    this.#urls.set(port, /listening on (\S+)/.exec(text)?.[1] ?? '');
    return this.#inWordsOfThePage(text);
  }

  #atItsPlace(word: string): string {
    return word.replace(/http:\/\/127\.0\.0\.1:(\d+)/, (all, port: string) => this.#urls.get(port) ?? all);
  }

  #inWordsOfThePage(text: string): string {
    const named = text.replaceAll(this.#directory, '../notes').trimEnd();
    return [...this.#urls].reduce((told, [port, url]) => told.replaceAll(url, `http://127.0.0.1:${port}`), named);
  }
}

/** What a process wrote, until a pattern is found in it. */
export function outputUntil(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const read = (chunk: unknown) => {
      text += String(chunk);
      if (pattern.test(text)) resolve(text);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('exit', (code) => reject(new Error(`ended with ${code} before ${pattern} was found in: ${text}`)));
  });
}

/** The environment of a user: nothing of the test runner's own. */
export function environment(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const { NODE_ENV, NODE_OPTIONS, FORCE_COLOR, DEBUG, LOG_LEVEL, ...env } = process.env;
  return { ...env, NO_COLOR: '1', ...more };
}

/** A command line as a shell parts it: quotes, and variables outside of single ones. */
function wordsOf(command: string, variables: Readonly<Record<string, string>>): string[] {
  const filled = (text: string) => text.replace(/\$(\w+)/g, (_, name: string) => variables[name] ?? '');
  return [...command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"|([^'"]+)/g, (_, literal?: string, quoted?: string, bare?: string) =>
      literal !== undefined ? literal : filled(quoted ?? bare ?? ''),
    ),
  );
}

/** As much of curl as the pages use: -X, -H, -d and an address. */
async function curl(args: readonly string[]): Promise<string> {
  const headers = new Headers();
  let method: string | undefined;
  let body: string | undefined;
  let url = '';
  for (let index = 0; index < args.length; index++) {
    const word = args[index] as string;
    if (word === '-X') method = args[++index];
    else if (word === '-d') body = args[++index];
    else if (word === '-H') {
      const [name = '', value = ''] = (args[++index] ?? '').split(/: (.*)/s);
      headers.set(name, value);
    } else if (word.startsWith('-')) throw new Error(`the tests do not know curl ${word}`);
    else url = word;
  }
  const response = await fetch(url, { method: method ?? (body === undefined ? 'GET' : 'POST'), headers, body: body ?? null });
  return response.text();
}

function laidOut(text: string): string {
  return /^[{[]/.test(text) ? JSON.stringify(JSON.parse(text), null, 2) : text.replaceAll('\r\n', '\n').trimEnd();
}
