import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inject } from 'vitest';
import { catalogFromCode } from '../../src/declaration/modules/modules.ts';
import { readDeclaration } from '../../src/declaration/read/read-declaration.ts';
import { DeclarationErrors, Report } from '../../src/declaration/report.ts';
import { codeSource, type Source } from '../../src/declaration/source.ts';
import type { Catalog, Declaration } from '../../src/declaration/types.ts';
import { readYamlSource } from '../../src/declaration/yaml-source.ts';

export class Person {}
export class Center {}
export class PersonController {}

/** A catalog with two models and a controller. */
export const catalog = catalogFromCode({ models: [Person, Center], controllers: [PersonController] });

export const routesYaml = "app_cruds:\n  resource: 'app_main_crud_route_loader:load'\n  type: service\n";

/** Writes files below a new temporary directory and returns it. */
export function writeFiles(files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(inject('runDirectory'), 'app-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  return directory;
}

/** Reads configuration files given by name without `config/`; routes.yaml is there unless given as null. */
export function yamlSource(files: Readonly<Record<string, string | null>>, env: NodeJS.ProcessEnv = {}): Source {
  const all = Object.entries({ 'routes.yaml': routesYaml, ...files }).flatMap(([name, text]) =>
    text === null ? [] : [[`config/${name}`, text]],
  );
  return readYamlSource(writeFiles({ 'config/.keep': '', ...Object.fromEntries(all) }), { env });
}

export interface Outcome {
  readonly declaration: Declaration;
  /** The lines of the error, none where all is well. */
  readonly lines: readonly string[];
}

export function outcomeOf(source: Source, options: { catalog?: Catalog; production?: boolean } = {}): Outcome {
  const report = new Report(source);
  const declaration = readDeclaration(source, options.catalog ?? catalog, report, { production: options.production ?? false });
  try {
    report.throwIfAny();
    return { declaration, lines: [] };
  } catch (error) {
    if (!(error instanceof DeclarationErrors)) throw error;
    return { declaration, lines: error.message.split('\n') };
  }
}

/** What becomes of one file `config/app.yaml`. */
export function fromYaml(
  text: string,
  options: { catalog?: Catalog; production?: boolean; env?: NodeJS.ProcessEnv } = {},
): Outcome {
  return outcomeOf(yamlSource({ 'app.yaml': text }, options.env), options);
}

/** What becomes of a declaration in code. */
export function fromCode(
  app_main: unknown,
  options: { catalog?: Catalog; production?: boolean; routes?: unknown } = {},
): Outcome {
  return outcomeOf(codeSource({ app_main, routes: options.routes }), options);
}

/** An API in code, sound unless `changes` say otherwise. */
export function personApi(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { class: 'Person', base_path: '/api/person', actions: { _index: null }, ...changes };
}

/** The lines for an API in code with these changes. */
export function apiLines(changes: Readonly<Record<string, unknown>>): readonly string[] {
  return fromCode({ apis: { person: personApi(changes) } }).lines;
}

/** The lines for one action in code. */
export function actionLines(name: string, action: unknown, api: Readonly<Record<string, unknown>> = {}): readonly string[] {
  return apiLines({ ...api, actions: { [name]: action } });
}
