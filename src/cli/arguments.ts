import { parseArgs } from 'node:util';
import { didYouMean, listed } from '../declaration/suggest.ts';
import { type Given, type LoadedCommand, type Option, optionValue, type Positional } from './command.ts';
import { CallFailure } from './failure.ts';

const helpOption: Option = { doc: 'Show this help.' };

export function optionsOf(command: LoadedCommand): Readonly<Record<string, Option>> {
  return { ...command.options, help: helpOption };
}

/** Parses the arguments after a command's name; throws a failure if they are wrong. */
export function readArguments(name: string, command: LoadedCommand, argv: readonly string[]): Given {
  const known = optionsOf(command);
  const { tokens } = parseArgs({
    args: [...argv],
    // Not strict: the messages are our own.
    strict: false,
    tokens: true,
    allowPositionals: true,
    options: Object.fromEntries(
      Object.entries(known).map(([name, { value, optional }]) => [
        name,
        { type: value && !optional ? 'string' : 'boolean', ...(name === 'help' && { short: 'h' }) },
      ]),
    ),
  });
  const options: Record<string, string[]> = {};
  const places: string[] = [];
  // an option with an optional value: the next positional becomes that value
  let waiting: string | null = null;
  for (const token of tokens) {
    if (token.kind === 'positional' && waiting !== null) options[waiting]?.splice(-1, 1, token.value);
    else if (token.kind === 'positional') places.push(token.value);
    waiting = null;
    if (token.kind !== 'option') continue;
    const option = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
    if (!option) throw unknownOption(name, token.rawName, Object.keys(known));
    checkValue(token.name, option, token.value, token.inlineValue === true);
    if (options[token.name] && !option.repeatable) throw new CallFailure(`--${token.name} is given twice; give it once`);
    options[token.name] = [...(options[token.name] ?? []), token.value ?? ''];
    if (option.optional && token.value === undefined) waiting = token.name;
  }
  return { options, positionals: options.help ? {} : placed(name, command.positionals, places) };
}

function unknownOption(command: string, given: string, known: readonly string[]): CallFailure {
  const all = known.map((name) => `--${name}`);
  return new CallFailure(`unknown option ${given};${didYouMean(given, all)} options of "declarest ${command}": ${listed(all)}`);
}

function checkValue(name: string, option: Option, value: string | undefined, inline: boolean): void {
  if (!option.value) {
    if (value !== undefined) throw new CallFailure(`--${name} does not accept a value; write just --${name}`);
    return;
  }
  if (value === undefined && option.optional) return;
  if (value === undefined) throw new CallFailure(`--${name} needs a value: --${name} ${option.value}`);
  // A value that looks like an option was probably meant as one: "--sub --roles A".
  if (!inline && value.length > 1 && value.startsWith('-')) {
    throw new CallFailure(`--${name} needs a value: --${name} ${option.value}, or --${name}=${value} if it begins with a dash`);
  }
}

function placed(command: string, positionals: readonly Positional[], places: readonly string[]): Given['positionals'] {
  const missing = positionals.find(({ required }, index) => required && places[index] === undefined);
  if (missing) throw new CallFailure(`${missing.name} is missing: ${missing.doc} See: declarest ${command} --help`);
  const extra = places[positionals.length];
  if (extra !== undefined) throw new CallFailure(`unexpected argument "${extra}"; see: declarest ${command} --help`);
  return Object.fromEntries(places.map((value, index) => [positionals[index]?.name as string, value]));
}

interface Range {
  readonly min: number;
  readonly max: number;
}

export function integerOption(name: string, text: string, range: Range): number {
  const number = wholeNumber(text, range);
  if (number !== null) return number;
  throw new CallFailure(`--${name} must be a whole number from ${range.min} to ${range.max}, not "${text}"`);
}

function wholeNumber(text: string, { min, max }: Range): number | null {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  return number >= min && number <= max ? number : null;
}

export const listenOptions: Readonly<Record<'port' | 'host', Option>> = {
  port: { value: 'N', doc: 'The port; 0 picks a free one. Default: PORT in the environment, else app_main.server.port (3000).' },
  host: {
    value: 'H',
    doc: 'The address to listen on. Default: HOST in the environment, else app_main.server.host (127.0.0.1).',
  },
};

const ports = { min: 0, max: 65_535 };

/** The port and host of the command line or else of the environment, if given. An empty variable counts as not set. */
export function listenOn(given: Given, env: NodeJS.ProcessEnv): { readonly port?: number; readonly host?: string } {
  const port = optionValue(given, 'port');
  const host = optionValue(given, 'host');
  if (host?.trim() === '')
    throw new CallFailure('--host must be an address, for example 127.0.0.1, or 0.0.0.0 for all addresses');
  const place = host ?? (env.HOST?.trim() || undefined);
  return {
    ...(port !== undefined && { port: integerOption('port', port, ports) }),
    ...(port === undefined && env.PORT && { port: portOf(env.PORT) }),
    ...(place !== undefined && { host: place }),
  };
}

function portOf(text: string): number {
  const port = wholeNumber(text, ports);
  if (port !== null) return port;
  throw new CallFailure(
    `the environment variable PORT must be a whole number from ${ports.min} to ${ports.max}, not "${text}"; change or unset it, or use --port`,
  );
}
