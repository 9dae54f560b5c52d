import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { EntityMetadata } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { isModel } from '../database/orm/is-model.ts';
import { loadCatalog } from '../declaration/modules/modules.ts';
import { identityOf } from '../declaration/names/class-names.ts';
import { DeclarationErrors } from '../declaration/report.ts';
import type { Exported } from '../declaration/vocabulary.ts';
import type { ExistingModel } from './plan.ts';

/** The models in `src/models` of an application. Its configuration is not read, so its environment may be incomplete. */
export async function loadModels(directory: string): Promise<readonly Exported[]> {
  const none = () => false;
  const { catalog, faults } = await loadCatalog(directory, {
    models: isModel,
    voters: none,
    denormalizers: none,
    normalizers: none,
    authenticators: none,
  });
  const own = faults.filter(({ path }) => String(path[0]).startsWith('src/models/'));
  if (own.length > 0) throw new DeclarationErrors(own);
  return catalog.models;
}

/** The models with their tables and modules. */
export async function existingModels(directory: string, models: readonly Exported[], mapper: Mapper): Promise<ExistingModel[]> {
  const all = [...mapper.getMetadata().getAll().values()] as EntityMetadata[];
  const found: ExistingModel[] = [];
  for (const { name, qualifiedName, value } of models) {
    const meta = all.find((one) => one.class === identityOf(value)) ?? all.find((one) => one.className === name);
    // classes that share a table are found by their root
    if (!meta?.collection || meta.root !== meta) continue;
    const file = moduleFile(directory, qualifiedName.split('#')[0] as string);
    const module: object = await import(pathToFileURL(join(directory, file)).href);
    const [exportName = name] = Object.entries(module).find(([, one]) => one === value) ?? [];
    found.push({ schema: meta.schema ?? null, name: meta.collection, className: meta.className, exportName, file });
  }
  return found;
}

function moduleFile(directory: string, stem: string): string {
  const file = ['.ts', '.mts', '.js', '.mjs']
    .map((extension) => stem + extension)
    .find((name) => existsSync(join(directory, name)));
  return file ?? `${stem}.ts`;
}

/** The columns and tables that comments in a model exempt: `// pull ignores search (tsvector): …`. */
export function ignoredNames(directory: string, { file }: Pick<ExistingModel, 'file'>): ReadonlySet<string> {
  const text = readFileSync(join(directory, file), 'utf8');
  return new Set(Array.from(text.matchAll(/\/\/ pull ignores (.+?)(?: \(|: |$)/gm), ([, name]) => name as string));
}

/** Whether a folder has a configuration. */
export function hasConfiguration(directory: string): boolean {
  const config = join(directory, 'config');
  return existsSync(config) && readdirSync(config).some((name) => /\.(?:ya?ml|m?[jt]s)$/.test(name));
}
