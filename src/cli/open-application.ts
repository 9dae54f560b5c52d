import { existsSync, readdirSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Application, ChooseDatabase } from '../application.ts';
import type { OpenApiDocument } from '../openapi/document.ts';
import { ApplicationFailure, CallFailure } from './failure.ts';
import { withFastImports } from './fast-imports.ts';
import type { Io } from './io.ts';

const smallest = `It needs at least these files:

  package.json            { "type": "module" }
  config/routes.yaml      app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }
  config/app_main.yaml    app_main:
                            apis:
                              person: { class: Person, base_path: /api/person, actions: { _index: null, _entity: null } }
  src/models/person.ts    import { defineEntity, p } from '@mikro-orm/core';
                          export const Person = defineEntity({
                            name: 'Person',
                            properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
                          });`;

/** The absolute directory of an application; throws a failure if it has no configuration. */
export function applicationDirectory(given: string | undefined, { cwd }: Io): string {
  const directory = resolve(cwd, given ?? '.');
  if (!isDirectory(directory)) {
    const fault = existsSync(directory) ? `${given} is not a directory` : `the directory ${given} does not exist`;
    throw new CallFailure(`${fault}; give the directory of an application`);
  }
  const config = resolve(directory, 'config');
  const remedy = `run "declarest init${given === undefined ? '' : ` ${given}`}" to create an application. ${smallest}`;
  if (!isDirectory(config)) throw new ApplicationFailure(`no config directory in ${directory}; ${remedy}`);
  if (!readdirSync(config).some((name) => /\.(ya?ml|m?[jt]s)$/.test(name)))
    throw new ApplicationFailure(`no configuration file in ${config}; ${remedy}`);
  return directory;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Loads the application in a directory and checks all of it. No database is opened. */
export async function openApplication(given: string | undefined, io: Io, choose?: ChooseDatabase): Promise<Application> {
  const directory = applicationDirectory(given, io);
  await withFastImports(() => import('@mikro-orm/sql'));
  const { loadApplication } = await import('../application.ts');
  return loadApplication({ directory, env: io.env }, choose);
}

export async function describeApplication(given: string | undefined, io: Io): Promise<[Application, OpenApiDocument]> {
  const application = await openApplication(given, io);
  const { openApiDocument } = await import('../openapi/document.ts');
  const { infoOf } = await import('../openapi/info.ts');
  return [application, openApiDocument(application, infoOf(application.directory, application.declaration.openapi))];
}
