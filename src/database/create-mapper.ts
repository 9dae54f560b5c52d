import { MikroORM, type Options, type Platform } from '@mikro-orm/core';
import type { DatabaseDeclaration } from '../declaration/types.ts';
import { chooseDialect } from '../dialect/choose.ts';
import { setDialect } from '../dialect/dialect.ts';
import { writeColumnDefaults } from './column-defaults.ts';
import { countDistinctKeys } from './distinct-counts.ts';
import type { Mapper } from './mapper.ts';
import type { OrmSetup } from './orm/read-orm.ts';
import { checkColumns } from './schema/missing-column.ts';
import type { OnStatement } from './statements-of.ts';
import { completeParents, completePivots, joinSubclasses, nameSubclasses, numberDiscriminators } from './subclass-joins.ts';

export interface MapperOptions {
  readonly entities: readonly unknown[];
  /** The application's directory, the base of relative file names. */
  readonly directory: string;
  readonly onStatement?: OnStatement | undefined;
  /** The MikroORM configuration of the application; null if it has none. */
  readonly orm?: OrmSetup | null;
}

/** Makes the mapper of an application: reads its models and chooses the dialect, without opening a connection. */
export async function createMapper(database: DatabaseDeclaration, options: MapperOptions): Promise<Mapper> {
  const { orm } = options;
  // loaded only for an existing MikroORM application
  const applying = orm ? await import('./orm/apply-orm.ts') : null;
  const common: Partial<Options> = {
    entities: [...options.entities] as NonNullable<Options['entities']>,
    discovery: { ...(orm && applying?.discoveryWith(orm)), warnWhenNoEntities: false },
    loadStrategy: 'balanced',
    // a request context of the host has entity managers of another mapper
    context: () => undefined,
    onQuery: (given: string, parameters: readonly unknown[]) => {
      const sql = orm?.options.onQuery?.(given, [...parameters]) ?? given;
      options.onStatement?.(sql, parameters);
      return database.readOnly ? withoutLock(sql) : sql;
    },
  };
  joinSubclasses();
  countDistinctKeys();
  const { adapt, dialect, options: connecting } = await chooseDialect(database, options.directory);
  const all = { ...orm?.options, ...common, ...connecting } as Options;
  // MikroORM.init would look for migrations, seeders and generators as well, and load what it finds. Only a configuration needs it.
  const mapper = (orm ? await MikroORM.init(all) : new MikroORM(all)) as unknown as Mapper;
  if (orm) applying?.addFilters(mapper, orm);
  completeParents(mapper);
  nameSubclasses(mapper);
  completePivots(mapper);
  numberDiscriminators(mapper);
  const platform = mapper.driver.getPlatform();
  adapt(platform);
  copyListsByItem(platform);
  // MikroORM looks tables up in it, also a table named "constructor"
  Object.setPrototypeOf(mapper.config.get('schemaGenerator').skipColumns ?? {}, null);
  checkColumns(mapper.driver);
  writeColumnDefaults(mapper);
  setDialect(platform, dialect);
  return mapper;
}

/** A connection that only reads needs no locks, and may not take them. */
function withoutLock(sql: string): string {
  return sql.replace(/ for (?:no key update|update|key share|share)(?: of \S+)?(?: nowait| skip locked)?\s*$/i, '');
}

/** Copies a list of embedded objects item by item: MikroORM compares each object that it copies with all that it copied before. */
function copyListsByItem(platform: Platform): void {
  const copyOf = platform.cloneEmbeddable.bind(platform);
  const copied = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (Object.getPrototypeOf(value) !== Object.prototype) return copyOf(value);
    const copy: Record<string, unknown> = { ...value };
    for (const key in copy) if (typeof copy[key] === 'object') copy[key] = copied(copy[key]);
    return copy;
  };
  platform.cloneEmbeddable = <Data>(data: Data): Data => {
    if (!Array.isArray(data)) return copyOf(data);
    // MikroORM marks the list
    const list: unknown[] = copyOf([]);
    for (const item of data) list.push(copied(item));
    return list as Data;
  };
}
