import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Application } from '../application.ts';
import type { Info, OpenApiDocument } from '../openapi/document.ts';
import type { Io } from './io.ts';
import { openApplication } from './open-application.ts';

/** Loads an application, and describes it. */
export async function describeApplication(
  directory: string | undefined,
  io: Io,
): Promise<{ application: Application; document: OpenApiDocument }> {
  const application = await openApplication(directory, io);
  const { openApiDocument } = await import('../openapi/document.ts');
  return { application, document: openApiDocument(application, infoOf(application.directory)) };
}

/** What an application is called: as its package says, else as its directory is called. */
function infoOf(directory: string): Info {
  const { name, version, description, license } = packageOf(directory);
  return {
    title: typeof name === 'string' ? name : basename(directory),
    version: typeof version === 'string' ? version : '0.0.0',
    ...(typeof description === 'string' && { description }),
    ...(typeof license === 'string' && { license: { name: license, identifier: license } }),
  };
}

function packageOf(directory: string): {
  name?: unknown;
  version?: unknown;
  description?: unknown;
  license?: unknown;
} {
  try {
    return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) ?? {};
  } catch {
    return {};
  }
}
