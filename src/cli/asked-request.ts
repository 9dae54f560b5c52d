import { didYouMean } from '../declaration/suggest.ts';
import type { Given, Positional } from './command.ts';
import { CallFailure } from './failure.ts';

/** The request that a command is about. */
export const requestPositionals: readonly Positional[] = [
  { name: 'METHOD', doc: 'The HTTP method, such as GET.', required: true },
  { name: 'PATH', doc: 'The path, such as /api/person/1.json.', required: true },
];

/** The request that a call names, or what is wrong with it. */
export function askedRequest({ positionals }: Given): { readonly method: string; readonly path: string } {
  const { METHOD = '', PATH: path = '' } = positionals;
  const method = METHOD.toUpperCase();
  checkCall(method, path);
  return { method, path };
}

function checkCall(method: string, path: string): void {
  const { METHODS } = process.getBuiltinModule('node:http');
  if (!METHODS.includes(method)) {
    throw new CallFailure(`"${method}" is no HTTP method;${didYouMean(method, METHODS)} such as GET, POST or PATCH`);
  }
  if (!/^(\/|https?:\/\/)/i.test(path))
    throw new CallFailure(`the path "${path}" must begin with a slash, as in /api/person/1.json`);
}

/** For each route that does not answer, why. */
export function reasonLines(reasons: readonly { name: string; path: string; reason: string }[], answered: boolean): string[] {
  if (reasons.length === 0) return [];
  const name = Math.max(...reasons.map((entry) => entry.name.length));
  const path = Math.max(...reasons.map((entry) => entry.path.length));
  return [
    answered ? 'the others do not:' : 'because:',
    ...reasons.map((entry) => `  ${entry.name.padEnd(name)}  ${entry.path.padEnd(path)}  ${entry.reason}`),
  ];
}
