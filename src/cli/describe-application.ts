import type { Application } from '../application.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import type { Io } from './io.ts';
import { openApplication } from './open-application.ts';

/** Loads an application, and describes it. */
export async function describeApplication(
  directory: string | undefined,
  io: Io,
): Promise<{ application: Application; document: OpenApiDocument }> {
  const application = await openApplication(directory, io);
  const { openApiDocument } = await import('../openapi/document.ts');
  const { infoOf } = await import('../openapi/info.ts');
  return { application, document: openApiDocument(application, infoOf(application.directory, application.declaration.openapi)) };
}
