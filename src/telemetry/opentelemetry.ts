import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** As much of `@opentelemetry/api` as is used. An application that brings an SDK brings it as well; nothing of it is loaded without. */
export type OpenTelemetry = Pick<typeof import('@opentelemetry/api'), 'trace' | 'context' | 'propagation' | 'ROOT_CONTEXT'>;

/** The API's numbers. */
export const spanKinds = { internal: 0, server: 1, client: 2 } as const;
export const errorStatus = 2;

/** The API as the application has it, or else as it is found from here: every copy knows what was registered with another. */
export async function loadOpenTelemetry(directory: string): Promise<OpenTelemetry | null> {
  const name = '@opentelemetry/api';
  for (const from of [join(directory, 'package.json'), import.meta.url]) {
    try {
      const module = (await import(pathToFileURL(createRequire(from).resolve(name)).href)) as Partial<OpenTelemetry> & {
        readonly default?: OpenTelemetry;
      };
      return module.ROOT_CONTEXT ? (module as OpenTelemetry) : (module.default ?? null);
    } catch {
      // it may be found from the other place
    }
  }
  return null;
}
