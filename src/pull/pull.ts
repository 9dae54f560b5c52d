import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mapper } from '../database/mapper.ts';
import type { TableName } from '../database/schema/catalogue.ts';
import type { Inventory } from '../database/schema/inventory.ts';
import { wantedTables } from '../database/schema/wanted-tables.ts';
import type { Exported } from '../declaration/vocabulary.ts';
import { dialectOf } from '../dialect/dialect.ts';
import { apisYaml, appYaml, packageJson, routesYaml } from './declaration-source.ts';
import { driftOf } from './drift.ts';
import { existingModels, hasConfiguration, ignoredNames } from './existing-models.ts';
import { modelSource, type Naming, propertySource } from './model-source.ts';
import { type Plan, type PlanOptions, planModels } from './plan.ts';
import { keyOf, labelOf } from './table-key.ts';

export interface PullOptions {
  readonly directory: string;
  /** The models of the application. */
  readonly models: readonly Exported[];
  /** A mapper of these models, connected to the database. */
  readonly mapper: Mapper;
  /** Chooses tables by the contents of the database; throws if it names unknown ones. */
  readonly choose: (inventory: Inventory) => (table: TableName) => boolean;
  /** The dependencies of a new package.json. */
  readonly packages: Readonly<Record<string, string>>;
}

export interface Pulled {
  /** Files to write, none of which exists. */
  readonly files: readonly { readonly path: string; readonly text: string }[];
  readonly models: number;
  readonly skipped: readonly string[];
  /** Differences between models that exist and the database. */
  readonly drift: readonly string[];
  readonly warnings: readonly string[];
}

/** Plans the models for a database, and compares it with the models that exist. Writes nothing. */
export async function pull({ choose, directory, mapper, models, packages }: PullOptions): Promise<Pulled> {
  const naming = mapper.config.getNamingStrategy() as Naming;
  const inventory = await dialectOf(mapper).schema.inventory(mapper.em.fork());
  const isWanted = choose(inventory);
  const { misfit } = dialectOf(mapper).schema;
  const fits: PlanOptions['fits'] = (wanted, found) =>
    misfit({ type: wanted.base } as never, { base: found.base, labels: null } as never) === null;
  const existing = await existingModels(directory, models, mapper);
  const known = new Set(wantedTables(mapper).map(keyOf));
  const ignored = new Map(existing.map((model) => [keyOf(model), ignoredNames(directory, model)]));
  const plan = planModels({
    inventory,
    existing,
    isKnown: (table) => known.has(keyOf(table)),
    isWanted,
    fits,
    exists: (file) => existsSync(join(directory, file)),
  });
  const isIgnored = (table: TableName, name: string) => ignored.get(keyOf(table))?.has(name) === true;
  return {
    files: filesOf(directory, plan, naming, packages),
    models: plan.models.length,
    skipped: plan.skipped.map(({ reason, subject }) => `${subject}: ${reason}`),
    drift: [
      ...(await driftOf({ inventory, isIgnored, isWanted, mapper, naming })),
      ...plan.unmapped
        .filter(({ model, property }) => !isIgnored(model, labelOf(property.table)))
        .map(
          ({ model, property }) =>
            `${model.className}: the join table ${labelOf(property.table)} has no property; add ${property.name}: ${propertySource(property, { table: property.table }, naming)}`,
        ),
    ],
    warnings: isCommonJs(directory) ? ['package.json has no "type": "module"; add it, so that Node loads the models'] : [],
  };
}

function filesOf(directory: string, { models }: Plan, naming: Naming, packages: PullOptions['packages']): Pulled['files'] {
  const files = models.map((model) => ({ path: model.file, text: modelSource(model, naming) }));
  if (models.length > 0) files.unshift({ path: freeConfig(directory), text: apisYaml(models) });
  if (hasConfiguration(directory)) return files;
  const first = [
    { path: 'package.json', text: packageJson(packages) },
    { path: 'config/app.yaml', text: appYaml },
    { path: 'config/routes.yaml', text: routesYaml },
  ];
  return [...first.filter(({ path }) => !existsSync(join(directory, path))), ...files];
}

function freeConfig(directory: string): string {
  for (let number = 1; ; number++) {
    const path = `config/apis${number === 1 ? '' : `-${number}`}.yaml`;
    if (!existsSync(join(directory, path))) return path;
  }
}

function isCommonJs(directory: string): boolean {
  const file = join(directory, 'package.json');
  if (!existsSync(file)) return false;
  try {
    return JSON.parse(readFileSync(file, 'utf8')).type !== 'module';
  } catch {
    return false;
  }
}
