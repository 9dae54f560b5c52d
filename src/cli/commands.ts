import type { Command } from './command.ts';

/** A command that is not loaded yet: the help of the program needs no more than this, and so is quick. */
export interface CommandEntry {
  readonly name: string;
  /** One line of the help. */
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** Every command, in the order of the help. */
export const commands: readonly CommandEntry[] = [
  {
    name: 'serve',
    summary: 'Serve the application over HTTP.',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  {
    name: 'dev',
    summary: 'Serve the application, and start it again whenever it changes.',
    load: async () => (await import('./commands/dev.ts')).dev,
  },
  {
    name: 'routes',
    summary: 'Show every route, in matching order.',
    load: async () => (await import('./commands/routes.ts')).routes,
  },
  {
    name: 'match',
    summary: 'Say which route answers a request, and why the others do not.',
    load: async () => (await import('./commands/match.ts')).match,
  },
  {
    name: 'explain',
    summary: 'Say what becomes of a request, and why, without changing anything.',
    load: async () => (await import('./commands/explain.ts')).explain,
  },
  {
    name: 'access',
    summary: 'Show who may do what, and what was opened since it was last saved.',
    load: async () => (await import('./commands/access.ts')).access,
  },
  {
    name: 'check',
    summary: 'Report every error of the declaration.',
    load: async () => (await import('./commands/check.ts')).check,
  },
  {
    name: 'reference',
    summary: 'Show every key of the configuration with its default.',
    load: async () => (await import('./commands/reference.ts')).reference,
  },
  {
    name: 'openapi',
    summary: 'Print the OpenAPI document of the application.',
    load: async () => (await import('./commands/openapi.ts')).openapi,
  },
  {
    name: 'client',
    summary: 'Write a typed client of the application, in TypeScript.',
    load: async () => (await import('./commands/client.ts')).client,
  },
  {
    name: 'token',
    summary: 'Print a token that the application accepts.',
    load: async () => (await import('./commands/token.ts')).token,
  },
];
