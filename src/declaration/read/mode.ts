import { DeclarationErrors } from '../report.ts';
import { didYouMean, listed } from '../suggest.ts';

const modes = ['development', 'test', 'production'] as const;

/** What an application runs as. */
export type Mode = (typeof modes)[number];

/** What is written for a mode but is not its name. */
const synonyms: ReadonlyMap<string, Mode> = new Map([
  ['prod', 'production'],
  ['staging', 'production'],
  ['dev', 'development'],
]);

/** The mode by `NODE_ENV`, `development` if it is unset or empty. A name that is nearly right must not open what production closes. */
export function modeOf({ NODE_ENV: given }: NodeJS.ProcessEnv): Mode {
  if (!given) return 'development';
  const known = modes.find((mode) => mode === given);
  if (known) return known;
  const synonym = synonyms.get(given.toLowerCase());
  const meant = synonym ? ` did you mean "${synonym}"?` : didYouMean(given, modes);
  const message = `unknown mode "${given}";${meant} use one of: ${listed(modes)}, or leave it unset for development`;
  throw new DeclarationErrors([{ place: null, path: ['NODE_ENV'], message }]);
}
