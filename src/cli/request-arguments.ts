import { didYouMean } from '../declaration/suggest.ts';
import { httpMethods } from '../declaration/vocabulary.ts';
import { directoryPositional, type Given, type Positional } from './command.ts';
import { CallFailure } from './failure.ts';

export const requestPositionals: readonly Positional[] = [
  { name: 'METHOD', doc: 'The HTTP method, such as GET.', required: true },
  { name: 'PATH', doc: 'The path, such as /api/person/1.json.', required: true },
  directoryPositional,
];

export function requestArguments({ positionals }: Given): { readonly method: string; readonly path: string } {
  const { METHOD = '', PATH: path = '' } = positionals;
  const method = METHOD.toUpperCase();
  const { METHODS } = process.getBuiltinModule('node:http');
  if (!METHODS.includes(method)) {
    throw new CallFailure(
      `unknown HTTP method "${method}";${didYouMean(method, httpMethods)} use GET, HEAD, POST, PUT, PATCH or DELETE`,
    );
  }
  if (!/^(\/|https?:\/\/)/i.test(path))
    throw new CallFailure(`the path "${path}" must begin with a slash, for example /api/person/1.json`);
  return { method, path };
}
