import { DeclarationErrors } from '../report.ts';
import { didYouMean, listed } from '../suggest.ts';

const modes = ['development', 'test', 'production'] as const;

/** The environment in which an application runs. */
export type Mode = (typeof modes)[number];

/** Common names for modes, which are not accepted but suggest the right name in the error. */
const synonyms: ReadonlyMap<string, Mode> = new Map([
  ['prod', 'production'],
  ['staging', 'production'],
  ['dev', 'development'],
]);

/**
 * The mode by `NODE_ENV`, `development` if it is unset or empty. Unknown names fail: a misspelled `production` must not enable
 * what production disables.
 */
export function modeOf({ NODE_ENV: given }: NodeJS.ProcessEnv): Mode {
  if (!given) return 'development';
  const known = modes.find((mode) => mode === given);
  if (known) return known;
  const synonym = synonyms.get(given.toLowerCase());
  const meant = synonym ? ` did you mean "${synonym}"?` : didYouMean(given, modes);
  const message = `unknown mode "${given}";${meant} use one of: ${listed(modes)}, or leave it unset for development`;
  throw new DeclarationErrors([{ place: null, path: ['NODE_ENV'], message }]);
}
