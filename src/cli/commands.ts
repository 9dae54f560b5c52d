import { type Command, commandDefaults, type LoadedCommand } from './command.ts';

/** A command that is not loaded yet: the program help needs no more than this. */
export type CommandEntry = ReturnType<typeof entry>;

/** The groups of the program help, in order. */
export const commandGroups: readonly { readonly title: string; readonly commands: readonly CommandEntry[] }[] = [
  {
    title: 'Run',
    commands: [
      entry('serve', 'Serve the application over HTTP.', () => import('./commands/serve.ts')),
      entry('dev', 'Serve the application and restart it on every change.', () => import('./commands/dev.ts')),
    ],
  },
  {
    title: 'Inspect',
    commands: [
      entry('check', 'Report every error in the declaration.', () => import('./commands/check.ts')),
      entry('routes', 'List the routes in matching order.', () => import('./commands/routes.ts')),
      entry('match', 'Show which route matches a request.', () => import('./commands/match.ts')),
      entry('explain', 'Explain the response to a request without changing data.', () => import('./commands/explain.ts')),
      entry('access', 'Show the access rules, or compare them with a baseline.', () => import('./commands/access.ts')),
    ],
  },
  {
    title: 'Database',
    commands: [
      entry('migrate', 'Create, apply, revert and check migrations.', () => import('./commands/migrate.ts')),
      entry('pull', 'Generate models from an existing database.', () => import('./commands/pull.ts')),
    ],
  },
  {
    title: 'Generate',
    commands: [
      entry('init', 'Create a new application.', () => import('./commands/init.ts')),
      entry('openapi', 'Print the OpenAPI document.', () => import('./commands/openapi.ts')),
      entry('client', 'Generate a typed client in TypeScript.', () => import('./commands/client.ts')),
      entry('token', 'Print an access token for development and tests.', () => import('./commands/token.ts')),
      entry('reference', 'Print every configuration key with its default.', () => import('./commands/reference.ts')),
    ],
  },
];

/** Every command, in the order of the help. */
export const commands: readonly CommandEntry[] = commandGroups.flatMap((group) => group.commands);

function entry(name: string, summary: string, load: () => Promise<{ readonly default: Command }>) {
  return { name, summary, load: async (): Promise<LoadedCommand> => ({ ...commandDefaults, ...(await load()).default }) };
}
