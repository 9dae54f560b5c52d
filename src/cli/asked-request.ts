import { didYouMean } from '../declaration/suggest.ts';
import { directoryPositional, type Given, type Positional } from './command.ts';
import { CallFailure } from './failure.ts';

export const requestPositionals: readonly Positional[] = [
  { name: 'METHOD', doc: 'The HTTP method, such as GET.', required: true },
  { name: 'PATH', doc: 'The path, such as /api/person/1.json.', required: true },
  directoryPositional,
];

export function askedRequest({ positionals }: Given): { readonly method: string; readonly path: string } {
  const { METHOD = '', PATH: path = '' } = positionals;
  const method = METHOD.toUpperCase();
  const { METHODS } = process.getBuiltinModule('node:http');
  if (!METHODS.includes(method)) {
    throw new CallFailure(`unknown HTTP method "${method}";${didYouMean(method, METHODS)} use GET, POST or PATCH, for example`);
  }
  if (!/^(\/|https?:\/\/)/i.test(path))
    throw new CallFailure(`the path "${path}" must begin with a slash, as in /api/person/1.json`);
  return { method, path };
}
