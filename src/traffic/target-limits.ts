import type { ServerDeclaration } from '../declaration/types.ts';
import { type Problem, problem } from '../errors.ts';

export type TargetLimits = Pick<ServerDeclaration, 'urlLimit' | 'maxParameters' | 'parameterLimit'>;

/** The problem if a URL is too long, or has too many or too long parameters, else null. */
export function targetProblem(url: string, { urlLimit, maxParameters, parameterLimit }: TargetLimits): Problem | null {
  if (url.length > urlLimit) return problem('url_too_long', { limit: urlLimit });
  let start = url.indexOf('?') + 1;
  if (start === 0) return null;
  for (let count = 1; ; count++) {
    const next = url.indexOf('&', start);
    if (count > maxParameters) return problem('too_many_parameters', { limit: maxParameters });
    if ((next === -1 ? url.length : next) - start > parameterLimit)
      return problem('parameter_too_long', { limit: parameterLimit });
    if (next === -1) return null;
    start = next + 1;
  }
}
