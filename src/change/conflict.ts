import {
  CheckConstraintViolationException,
  DriverException,
  type EntityMetadata,
  type EntityProperty,
  ForeignKeyConstraintViolationException,
  helper,
  NotNullConstraintViolationException,
  OptimisticLockError,
  UniqueConstraintViolationException,
  ValidationError,
} from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import type { BrokenConstraint, DatabaseError } from '../dialect/error-reader.ts';
import { databaseErrors } from '../dialect/errors.ts';
import { missingValue, type Problem, problem, violationOf, violationsProblem } from '../errors.ts';
import { valuesOf } from '../model/composite-key.ts';
import { jsonName } from '../model/field-plan.ts';
import { type ActiveGroups, isKnownTo } from '../model/groups.ts';
import { entitiesOf, modelName } from '../model/hierarchy.ts';
import { type Identifier, keyParts } from '../model/identifier.ts';
import { amongAny } from '../model/key-condition.ts';
import { keyReader } from '../query/entities/keys.ts';
import { type ForeignKey, foreignKeysOf, pivotOf } from './foreign-keys.ts';

/**
 * The problem for a write that the database rejected, in terms of the properties that callers with these groups know; null for
 * other errors.
 */
export function conflictProblem(given: unknown, mapper: Mapper, groups: ActiveGroups): Problem | null {
  const error = translated(given, mapper);
  if (error instanceof OptimisticLockError) {
    const entity: unknown = error.getEntity();
    const model = typeof entity === 'object' && entity !== null ? modelName(helper(entity).__meta) : 'entity';
    return problem('conflict_version', { model }, { cause: error });
  }
  const broken = () => databaseErrors.brokenConstraint(error as DatabaseError);
  if (error instanceof UniqueConstraintViolationException) {
    const { table, columns } = broken();
    const meta = metaOfTable(mapper, table);
    const pivot = meta ? null : pivotOf(mapper, table);
    // another request put the same item into a to-many after this request had read it
    if (pivot) return problem('conflict_version', { model: modelName(pivot.owner) }, { cause: error });
    const properties = columns
      .map((column) => propertyOf(mapper, table, column))
      .flatMap((property) => nameOf(property, groups) ?? []);
    // a reference to a composite key has several columns
    const names = [...new Set(properties)].join(', ') || 'a unique property';
    return problem('conflict_unique', { model: meta ? modelName(meta) : 'row', properties: names }, { cause: error });
  }
  if (error instanceof NotNullConstraintViolationException) {
    const { table, columns } = broken();
    const property = propertyOf(mapper, table, columns[0] ?? '');
    // a caller cannot fill a column that the model does not have
    if (property === null) return null;
    return violationsProblem([missingValue(nameOf(property, groups) ?? '')]);
  }
  if (error instanceof CheckConstraintViolationException) {
    const propertyPath = checkedProperty(broken(), mapper, groups) ?? '';
    return violationsProblem([violationOf(propertyPath, 'breaks a rule of the model', 'check')]);
  }
  if (
    error instanceof ForeignKeyConstraintViolationException ||
    (error instanceof DriverException && databaseErrors.isReferenceConflict(error))
  ) {
    return problem('conflict_reference', { reason: referenceReason(broken(), mapper, groups) }, { cause: error });
  }
  return error instanceof ValidationError ? orphanProblem(error, mapper) : null;
}

/** The mapper does not remove an item from a to-many if the item cannot exist without its owner. */
function orphanProblem(error: ValidationError, mapper: Mapper): Problem | null {
  const [, model, name] = /^Removing items from collection (\w+)\.(\w+) without/.exec(error.message) ?? [];
  const meta = entitiesOf(mapper).find(({ className }) => className === model);
  const property = meta?.properties[name as never] as EntityProperty | undefined;
  if (!property) return null;
  return violationsProblem([violationOf(jsonName(property), 'must keep its items: they cannot exist without it', 'orphan')]);
}

/** A commit throws the driver's own error: the mapper translates only errors of statements. */
function translated(error: unknown, mapper: Mapper): unknown {
  if (!databaseErrors.isTranslatable(error) || !(error instanceof Error) || error instanceof DriverException) return error;
  return mapper.driver.getPlatform().getExceptionConverter().convertException(error);
}

/**
 * The violation for a value that its column rejects; null for other errors. Only PostgreSQL knows which values some column types
 * accept (`interval`, `inet`), and it does not say which column rejected its value.
 */
export function valueProblem(error: unknown): Problem | null {
  if (!databaseErrors.isMisfit(error)) return null;
  return violationsProblem([violationOf('', 'a value is not valid for its column', 'value')]);
}

/** Finds the first association that still refers to a row, because SQLite does not say why the row cannot be removed. */
export async function stillReferenced(
  given: unknown,
  meta: EntityMetadata,
  id: Identifier,
  em: RequestEntityManager,
  mapper: Mapper,
  groups: ActiveGroups,
): Promise<unknown> {
  const error = translated(given, mapper);
  if (!(error instanceof ForeignKeyConstraintViolationException) || (error as DatabaseError).table) return error;
  const platform = mapper.driver.getPlatform();
  for (const key of foreignKeysOf(mapper, groups)) {
    const values = valuesOf(id);
    if (!key.restricts || key.target.root !== meta.root || key.columns.length !== values.length) continue;
    const isReferring = key.columns.map((column) => `${platform.quoteIdentifier(column)} = ?`).join(' and ');
    const sql = `select 1 from ${platform.quoteIdentifier(key.table)} where ${isReferring} limit 1`;
    const found = await em.execute(sql, [...values]);
    if (found.length > 0) return problem('conflict_reference', { reason: referencedBy(key) }, { cause: error });
  }
  return error;
}

/** The first of some rows that could not be removed because another row refers to it; null for other errors. */
export async function referencedAmong(
  given: unknown,
  meta: EntityMetadata,
  ids: readonly Identifier[],
  em: RequestEntityManager,
  mapper: Mapper,
  groups: ActiveGroups,
): Promise<{ readonly problem: Problem; readonly index: number } | null> {
  const error = translated(given, mapper);
  const isConflict = error instanceof DriverException && databaseErrors.isReferenceConflict(error);
  if (!(error instanceof ForeignKeyConstraintViolationException) && !isConflict) return null;
  const platform = mapper.driver.getPlatform();
  const readKey = keyReader(em, meta);
  for (const key of foreignKeysOf(mapper, groups)) {
    if (!key.restricts || key.target.root !== meta.root || key.columns.length !== keyParts(meta).length) continue;
    const columns = key.columns.map((column) => platform.quoteIdentifier(column).toString());
    const { params, sql } = amongAny(meta, platform, columns, ids);
    const selected = columns.map((column, i) => `${column} as key${i}`).join(', ');
    const text = `select ${selected} from ${platform.quoteIdentifier(key.table)} where ${sql} limit 1`;
    const [found] = (await em.execute(text, [...params])) as object[];
    const referred = found && String(readKey(found));
    const index = ids.findIndex((id) => String(id) === referred);
    if (index >= 0) return { problem: problem('conflict_reference', { reason: referencedBy(key) }, { cause: error }), index };
  }
  return null;
}

function referenceReason(
  { constraint, isStillReferenced, table }: BrokenConstraint,
  mapper: Mapper,
  groups: ActiveGroups,
): string {
  const key = foreignKeysOf(mapper, groups).find((candidate) => candidate.table === table && candidate.constraint === constraint);
  if (isStillReferenced) {
    return key ? referencedBy(key) : 'it is still referenced by another entity';
  }
  return key?.holder
    ? `the entity that ${key.holder} refers to no longer exists`
    : 'an associated entity does not exist, or is still referenced';
}

function referencedBy({ target, holder }: ForeignKey): string {
  return `the ${modelName(target)} is still referenced by${holder === null ? ' another entity' : `: ${holder}`}`;
}

function checkedProperty({ constraint }: BrokenConstraint, mapper: Mapper, groups: ActiveGroups): string | null {
  for (const meta of entitiesOf(mapper)) {
    const check = meta.checks.find(({ name, expression }) => name === constraint || expression === constraint);
    const property = check?.property && (meta.properties[check.property as never] as EntityProperty | undefined);
    if (property) return nameOf(property, groups);
  }
  return null;
}

function metaOfTable(mapper: Mapper, table: string): EntityMetadata | undefined {
  return entitiesOf(mapper).find((meta) => meta.tableName === table)?.root;
}

function propertyOf(mapper: Mapper, table: string, column: string): EntityProperty | null {
  for (const meta of entitiesOf(mapper).filter(({ tableName }) => tableName === table)) {
    const property = (Object.values(meta.properties) as EntityProperty[]).find(({ fieldNames }) => fieldNames?.includes(column));
    if (property) return property;
  }
  return null;
}

/** The name in JSON, or the path for a part of an embedded object; null if callers do not know the property. */
function nameOf(property: EntityProperty | null, groups: ActiveGroups): string | null {
  if (!property || !isKnownTo(groups, property)) return null;
  return property.embedded ? property.embedded.join('.') : jsonName(property);
}
