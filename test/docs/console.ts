import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
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
  readonly #cwd: string | undefined;
  /** Environment variables, of which `export` adds more. */
  readonly #env: Record<string, string>;
  /** What pages call by one name and tests by another, such as a directory or the address of a database. */
  readonly #aliases: ReadonlyMap<string, string>;
  readonly #variables: Record<string, string>;
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
      aliases = {},
    }: {
      cwd?: string;
      env?: Record<string, string>;
      url?: string;
      variables?: Record<string, string>;
      aliases?: Record<string, string>;
    } = {},
  ) {
    this.#cwd = cwd;
    this.#env = { ...env };
    this.#aliases = new Map([...Object.entries(aliases), ['../notes', directory] as const].filter(([, own]) => own !== ''));
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
    const words = wordsOf(command, this.#variables).map((word) => this.#withoutAliases(word));
    if (words[0] === 'export') {
      Object.assign(this.#env, environmentOf(words.slice(1)));
      return '';
    }
    const start = words.findIndex((word) => !assigns.test(word));
    const env = { ...this.#env, ...environmentOf(words.slice(0, start)) };
    const [program, ...args] = words.slice(start);
    if (program === 'curl') return laidOut(await curl(args.map((word) => this.#atItsPlace(word))));
    if (program !== 'npx' || args[0] !== 'declarest') throw new Error(`the tests do not know how to run: ${command}`);
    return args[1] === 'serve' ? this.#serve(args.slice(1), env) : this.#declarest(args.slice(1), env);
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

  #declarest(args: string[], env: Record<string, string>): string {
    const { stdout, stderr } = spawnSync(process.execPath, [command, ...args], {
      cwd: this.#cwd,
      encoding: 'utf8',
      env: environment(env),
    });
    return this.#inWordsOfThePage(stdout + stderr);
  }

  /** Starts a server; one that has its port already ends first. */
  async #serve(args: string[], env: Record<string, string>): Promise<string> {
    const at = args.indexOf('--port');
    const port = at === -1 ? '3000' : (args[at + 1] as string);
    await this.#stop(port);
    const others = at === -1 ? args : args.toSpliced(at, 2);
    const server = spawn(process.execPath, [command, ...others, '--port', '0'], { cwd: this.#cwd, env: environment(env) });
    this.#servers.set(port, server);
    const text = await outputUntil(server, /listening on (\S+)\n/);
    this.#urls.set(port, /listening on (\S+)/.exec(text)?.[1] ?? '');
    return this.#inWordsOfThePage(text);
  }

  #atItsPlace(word: string): string {
    return word.replace(/http:\/\/127\.0\.0\.1:(\d+)/, (all, port: string) => this.#urls.get(port) ?? all);
  }

  #withoutAliases(word: string): string {
    return [...this.#aliases].reduce((text, [shown, own]) => text.replaceAll(shown, own), word);
  }

  #inWordsOfThePage(text: string): string {
    const named = [...this.#aliases].reduce((told, [shown, own]) => told.replaceAll(own, shown), text.trimEnd());
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

/** An environment variable before a command, or after `export`. */
const assigns = /^([A-Z_]+)=(.*)$/s;

function environmentOf(words: readonly string[]): Record<string, string> {
  return Object.fromEntries(words.map((word) => assigns.exec(word)?.slice(1) as [string, string]));
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

/** As much of curl as the pages use: -X, -H, -d, -i, -g (for brackets in an address) and an address. */
async function curl(args: readonly string[]): Promise<string> {
  const headers: Record<string, string> = {};
  let method: string | undefined;
  let body: string | undefined;
  let url = '';
  let showsHead = false;
  for (let index = 0; index < args.length; index++) {
    const word = args[index] as string;
    if (word === '-X') method = args[++index];
    else if (word === '-d') body = args[++index];
    else if (word === '-i') showsHead = true;
    else if (word === '-H') {
      const [name = '', value = ''] = (args[++index] ?? '').split(/: (.*)/s);
      headers[name] = value;
    } else if (word.startsWith('-') && word !== '-g') throw new Error(`the tests do not know curl ${word}`);
    else if (word !== '-g') url = word;
  }
  // Node sends no length for DELETE by itself
  if (body !== undefined) headers['Content-Length'] = String(Buffer.byteLength(body));
  const sent = request(url, { method: method ?? (body === undefined ? 'GET' : 'POST'), headers });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const received = laidOut(await text(response));
  if (!showsHead) return received;
  const { statusCode, statusMessage, rawHeaders } = response;
  const lines = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}`] : []));
  return [`HTTP/1.1 ${statusCode} ${statusMessage}`, ...lines, '', received].join('\n').trimEnd();
}

/** JSON with line breaks; NDJSON has its own. */
function laidOut(text: string): string {
  return /^[{[].*$/.test(text) ? JSON.stringify(JSON.parse(text), null, 2) : text.replaceAll('\r\n', '\n').trimEnd();
}
