import { type Command, commandDefaults, type LoadedCommand } from './command.ts';

/** A command that is not loaded yet: the help of the program needs no more, and stays quick. */
export type CommandEntry = ReturnType<typeof entry>;

/** Every command, in the order of the help. */
export const commands: readonly CommandEntry[] = [
  entry('serve', 'Serve the application over HTTP.', () => import('./commands/serve.ts')),
  entry('dev', 'Serve the application, and restart it on every change.', () => import('./commands/dev.ts')),
  entry('routes', 'Show every route, in matching order.', () => import('./commands/routes.ts')),
  entry('match', 'Show which route matches a request, and why the others do not.', () => import('./commands/match.ts')),
  entry('explain', 'Explain the response to a request, without changing anything.', () => import('./commands/explain.ts')),
  entry(
    'access',
    'Show the access rules of every route, and what changed since the saved baseline.',
    () => import('./commands/access.ts'),
  ),
  entry('check', 'Report every error of the declaration.', () => import('./commands/check.ts')),
  entry('migrate', 'Create, apply, revert and check migrations of the database.', () => import('./commands/migrate.ts')),
  entry('reference', 'Show every key of the configuration with its default.', () => import('./commands/reference.ts')),
  entry('openapi', 'Print the OpenAPI document of the application.', () => import('./commands/openapi.ts')),
  entry('client', 'Write a typed client of the application, in TypeScript.', () => import('./commands/client.ts')),
  entry('token', 'Print a token that the application accepts.', () => import('./commands/token.ts')),
];

function entry(name: string, summary: string, load: () => Promise<{ readonly default: Command }>) {
  return { name, summary, load: async (): Promise<LoadedCommand> => ({ ...commandDefaults, ...(await load()).default }) };
}
