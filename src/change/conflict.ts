import {
  type EntityMetadata,
  type EntityProperty,
  ForeignKeyConstraintViolationException,
  helper,
  NotNullConstraintViolationException,
  OptimisticLockError,
  UniqueConstraintViolationException,
} from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import { type Problem, problem, violationsProblem } from '../errors.ts';
import { jsonName } from '../model/field-plan.ts';
import { entitiesOf, modelName } from '../model/hierarchy.ts';

/** What the two drivers tell of a broken constraint. */
interface ConstraintError {
  readonly message: string;
  readonly table?: string;
  readonly column?: string;
  readonly detail?: string;
  readonly constraint?: string;
}

/** The answer to a write that the database refused, in terms of the model's properties. Null: the error is something else. */
export function conflictProblem(error: unknown, mapper: Mapper): Problem | null {
  if (error instanceof OptimisticLockError) {
    return problem('conflict_version', { model: nameOfEntity(error.getEntity()) }, { cause: error });
  }
  const told = error as ConstraintError;
  if (error instanceof UniqueConstraintViolationException) {
    const { table, columns } = brokenColumns(told);
    const meta = metaOfTable(mapper, table);
    const properties = columns.map((column) => propertyOf(mapper, table, column)).filter((name) => name !== null);
    const model = meta ? modelName(meta) : 'row';
    return problem('conflict_unique', { model, properties: properties.join(', ') || 'a unique property' }, { cause: error });
  }
  if (error instanceof NotNullConstraintViolationException) {
    const { table, columns } = brokenColumns(told);
    const propertyPath = propertyOf(mapper, table, columns[0] ?? '') ?? '';
    return violationsProblem([{ propertyPath, title: 'is required', code: 'required', parameters: {} }]);
  }
  if (error instanceof ForeignKeyConstraintViolationException) {
    return problem('conflict_reference', { reason: referenceReason(told, mapper) }, { cause: error });
  }
  return null;
}

/** Why a row cannot be removed, for a database that does not say (SQLite): the first association that still points to it. */
export async function stillReferenced(
  error: unknown,
  entity: object,
  em: RequestEntityManager,
  mapper: Mapper,
): Promise<unknown> {
  if (!(error instanceof ForeignKeyConstraintViolationException) || (error as ConstraintError).table) return error;
  const { __meta: meta } = helper(entity);
  for (const owner of entitiesOf(mapper)) {
    for (const property of owner.relations as EntityProperty[]) {
      if (!property.owner || property.targetMeta?.root !== meta.root) continue;
      const found = await em.fork().count(owner.class, { [property.name]: helper(entity).getPrimaryKey() } as never);
      if (found > 0) return problem('conflict_reference', { reason: referencedBy(meta, owner, property) }, { cause: error });
    }
  }
  return error;
}

function referenceReason({ detail = '', table, constraint = '' }: ConstraintError, mapper: Mapper): string {
  if (detail.includes('still referenced') && table) {
    const from = metaOfTable(mapper, table);
    const property = from ? foreignProperty(from, constraint) : pivotProperty(mapper, table);
    if (property) return `it is still referenced by: ${property}`;
    return 'it is still referenced by another entity';
  }
  const columns = columnsIn(detail);
  const property = table && columns[0] ? propertyOf(mapper, table, columns[0]) : null;
  return property
    ? `what ${property} refers to does not exist any more`
    : 'an associated entity does not exist, or is still referenced';
}

function referencedBy(meta: EntityMetadata, owner: EntityMetadata, property: EntityProperty): string {
  return `the ${modelName(meta)} is still referenced by: ${modelName(owner)}.${jsonName(property)}`;
}

/** PostgreSQL names the referencing table and the constraint, which the mapper named after the columns. */
function foreignProperty(from: EntityMetadata, constraint: string): string | null {
  const property = (from.relations as EntityProperty[]).find(
    ({ foreignKeyName, fieldNames = [] }) =>
      foreignKeyName === constraint || (fieldNames.length > 0 && constraint.includes(fieldNames.join('_'))),
  );
  return property ? `${modelName(from)}.${jsonName(property)}` : null;
}

function pivotProperty(mapper: Mapper, table: string): string | null {
  for (const meta of entitiesOf(mapper)) {
    for (const property of meta.relations as EntityProperty[]) {
      if (property.owner && property.pivotTable === table) return `${modelName(meta)}.${jsonName(property)}`;
    }
  }
  return null;
}

/** PostgreSQL: `Key (email)=(…) already exists.`; SQLite: `UNIQUE constraint failed: person.email, person.year` */
function brokenColumns({ message, table, column, detail = '' }: ConstraintError): { table: string; columns: string[] } {
  if (table) return { table, columns: column ? [column] : columnsIn(detail) };
  const listed = /constraint failed: (.*)$/m.exec(message)?.[1] ?? '';
  const pairs = listed.split(', ').map((pair) => pair.split('.'));
  return { table: pairs[0]?.[0] ?? '', columns: pairs.map((pair) => pair[1] ?? '') };
}

function columnsIn(detail: string): string[] {
  const key = /^Key \((.*?)\)=/.exec(detail)?.[1];
  return key ? key.split(', ').map((column) => column.replace(/^"|"$/g, '')) : [];
}

function metaOfTable(mapper: Mapper, table: string): EntityMetadata | undefined {
  return entitiesOf(mapper).find((meta) => meta.tableName === table);
}

function propertyOf(mapper: Mapper, table: string, column: string): string | null {
  for (const meta of entitiesOf(mapper).filter(({ tableName }) => tableName === table)) {
    const property = (Object.values(meta.properties) as EntityProperty[]).find(({ fieldNames }) => fieldNames?.includes(column));
    if (property) return property.embedded ? property.embedded.join('.') : jsonName(property);
  }
  return null;
}

function nameOfEntity(entity: unknown): string {
  return typeof entity === 'object' && entity !== null ? modelName(helper(entity).__meta) : 'entity';
}
