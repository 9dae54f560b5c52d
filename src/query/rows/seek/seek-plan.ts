import { createHash } from 'node:crypto';
import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { Executor, Statement } from '../../../database/executor.ts';
import type { Mapper } from '../../../database/mapper.ts';
import type { SortKey } from '../../../declaration/types.ts';
import { type Dialect, dialectOf } from '../../../dialect/dialect.ts';
import { valuesOf } from '../../../model/composite-key.ts';
import { type FieldPlan, targetsOf } from '../../../model/field-plan.ts';
import { hasDiscriminator } from '../../../model/hierarchy.ts';
import { entityKey, keyParts } from '../../../model/identifier.ts';
import { readableProperty } from '../../../model/readable-field.ts';
import { type ValueKind, valueKindOf } from '../../../model/value-kind.ts';
import { noEdges, type PageEdges } from '../../../response/collection.ts';
import { type Condition, value } from '../../list/condition.ts';
import { NotCompilable, plainTable } from '../association.ts';
import { statementOf } from '../bound-statement.ts';
import { rootTableAlias } from '../row-plan.ts';
import { quoted } from '../table-name.ts';
import { seekCondition } from './seek-condition.ts';
import { planSort, type SortColumn } from './sort-plan.ts';

/** A window of a result set. */
export interface Window {
  readonly offset: number;
  readonly limit: number;
  /** The row at which it begins or ends, in place of the offset. */
  readonly seek?: Seek;
}

/** A sort key of a row as a token holds it: PostgreSQL's text of it, or SQLite's own value. */
type SeekValue = string | number | null;

/** Checks that a value can occur in a column, so that nothing else is ever compared with it. Null if that cannot be checked. */
export function seekValueCheck(
  kind: ValueKind,
  { columnTypes }: EntityProperty,
  { values }: Dialect,
): ((value: string | number) => boolean) | null {
  return values.sortKeyCheck(kind, String(columnTypes?.[0] ?? '').toLowerCase());
}

/** Where a page begins or ends: the sort keys of the row next to it. */
export interface Seek {
  /** Rows after that row, or those before it. */
  readonly direction: 'after' | 'before';
  readonly values: readonly SeekValue[];
  /** Whether that row is included. */
  readonly inclusive: boolean;
}

/** The seek that selects all other rows. */
export function complementOf({ direction, inclusive, values }: Seek): Seek {
  return { direction: direction === 'after' ? 'before' : 'after', values, inclusive: !inclusive };
}

interface SeekColumn extends SortColumn {
  readonly kind: ValueKind;
  readonly nullable: boolean;
  readonly isValid: (value: string | number) => boolean;
}

/** Maximum length of a token: it is part of a URL, and the length of URLs is limited. */
const maxTokenLength = 1000;

/** The last item in the token of a page that includes the row itself. */
const inclusiveMark = true;

/** How a list continues from one of its rows: makes page tokens from sort keys, and conditions from page tokens. */
export class SeekPlan {
  readonly columns: readonly SeekColumn[];
  readonly #dialect: Dialect;
  /** The first item of every token, which differs for each list and order. */
  readonly #tag: string;
  readonly #edges: Statement;
  readonly #executor: Executor;
  /** The number of key columns, which are the last columns. */
  readonly #keyCount: number;
  /** Quotes a name for SQL. */
  readonly quoted: (name: string) => string;

  private constructor(mapper: Mapper, meta: EntityMetadata, list: string, columns: readonly SeekColumn[], executor: Executor) {
    this.quoted = (name) => quoted(mapper, name);
    this.columns = columns;
    this.#dialect = dialectOf(mapper);
    const identity = [this.#dialect.name, list, ...columns.map(({ direction, kind, sql }) => `${sql} ${direction} ${kind.kind}`)];
    this.#tag = createHash('sha256').update(JSON.stringify(identity)).digest('base64url').slice(0, 6);
    this.#executor = executor;
    this.#keyCount = keyParts(meta).length;
    this.#edges = this.#edgeStatement(mapper, meta);
  }

  /** The plan of a list; null unless callers can read all sort keys, which tokens contain, and a statement can seek them. */
  static of(
    mapper: Mapper,
    meta: EntityMetadata,
    fields: FieldPlan,
    sort: readonly SortKey[],
    list: string,
    executor: Executor,
    isOpen: (embedded: EntityMetadata) => boolean = () => true,
  ): SeekPlan | null {
    const paths = [...sort.map(({ property }) => property), ...keyParts(meta).map(({ path }) => path)];
    if (!paths.every((path) => isShown(fields, path, isOpen))) return null;
    try {
      const columns = planSort(mapper, meta, sort).columns.map((column) => seekColumn(mapper, meta, column));
      return columns.every((column) => column !== null) ? new SeekPlan(mapper, meta, list, columns, executor) : null;
    } catch (error) {
      if (error instanceof NotCompilable) return null;
      throw error;
    }
  }

  /** The token of a row, from the columns that the list is ordered by; null if it has none. */
  token(row: readonly unknown[]): string | null {
    const values = row.map((value, i) => seekValue(value, (this.columns[i] as SeekColumn).kind));
    return this.#areValid(values) ? this.#tokenOf(values) : null;
  }

  /** The tokens of a page that was sought and is empty: all other rows are on its other side. */
  edgesOfNone(seek: Seek): PageEdges {
    const { direction, inclusive, values } = complementOf(seek);
    const token = this.#tokenOf(inclusive ? [...values, inclusiveMark] : values);
    return direction === 'before' ? { first: token, last: null } : { first: null, last: token };
  }

  #tokenOf(content: readonly unknown[]): string | null {
    const token = Buffer.from(JSON.stringify([this.#tag, ...content])).toString('base64url');
    return token.length > maxTokenLength ? null : token;
  }

  /** Reads a token; null if it does not belong to this list. */
  read(token: string): Omit<Seek, 'direction'> | null {
    const bytes = Buffer.from(token, 'base64url');
    // only one spelling of a token is valid
    if (token.length > maxTokenLength || bytes.toString('base64url') !== token) return null;
    try {
      const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
      const [tag, ...values] = JSON.parse(text) as unknown[];
      const inclusive = values.at(-1) === inclusiveMark;
      if (inclusive) values.pop();
      return tag === this.#tag && this.#areValid(values) ? { values, inclusive } : null;
    } catch {
      return null;
    }
  }

  /** The condition for the rows that are sought. `columnOf` writes a column in SQL. */
  condition({ direction, inclusive, values }: Seek, columnOf: (column: SortColumn) => string): Condition {
    const terms = this.columns.map((column, i) => {
      const sought = values[i] ?? null;
      return {
        sql: columnOf(column),
        direction: direction === 'after' ? column.direction : opposite(column.direction),
        nullable: column.nullable,
        value: sought === null ? null : value(this.#dialect.values.sortKey(sought, column.kind)),
      };
    });
    return seekCondition(terms, this.#dialect, inclusive);
  }

  /** The tokens of a page of entities. The sort keys are read again: an entity may not have them, or not exactly. */
  async edgesOf(rows: readonly object[]): Promise<PageEdges> {
    if (rows.length === 0) return noEdges;
    const ends = [rows[0] as object, rows[rows.length - 1] as object];
    if (this.#isKeyAlone) {
      const tokenOf = (entity: object) => this.token([this.#dialect.values.keyAsRead(entityKey(entity))]);
      return { first: tokenOf(ends[0] as object), last: tokenOf(ends[1] as object) };
    }
    const keys = ends.map((entity) => entityKey(entity, true));
    const bound = keys.flatMap((key) => valuesOf(key).map((value) => this.#dialect.values.bindable(value)));
    const found = await this.#executor.rows(this.#edges, bound);
    const place = this.columns.length;
    const tokenAt = (position: string) => {
      const row = found.find((candidate) => String(candidate[place]) === position);
      return row ? this.token(row.slice(0, place)) : null;
    };
    const first = tokenAt('1');
    return { first, last: String(keys[0]) === String(keys[1]) ? first : tokenAt('2') };
  }

  /** Whether the list is ordered by its key alone, and the key is of a kind that entities hold exactly. */
  get #isKeyAlone(): boolean {
    const { kind } = this.columns[0] as SeekColumn;
    const isExact = ['integer', 'bigint', 'uuid'].includes(kind.kind) || (kind.kind === 'string' && !kind.fixed);
    return this.columns.length === 1 && isExact;
  }

  #edgeStatement(mapper: Mapper, meta: EntityMetadata): Statement {
    const { sql } = this.#dialect;
    const keys = this.columns.slice(-this.#keyCount).map((column) => column.valueOf(rootTableAlias));
    const hasKey = (from: number) => keys.map((key, i) => `${key} = ${sql.parameter(from + i)}`).join(' and ');
    const [first, second] = [hasKey(1), hasKey(1 + keys.length)];
    const values = this.columns.map((column) => column.valueOf(rootTableAlias));
    const from = `from ${plainTable(mapper, meta)} as ${rootTableAlias}`;
    const place = `case when ${first} then 1 else 2 end`;
    const text = `select ${values.join(', ')}, ${place} ${from} where (${first}) or (${second})`;
    return statementOf(text, this.holdsBigints);
  }

  get holdsBigints(): boolean {
    return this.columns.some(({ kind }) => kind.kind === 'bigint');
  }

  #areValid(values: readonly unknown[]): values is readonly SeekValue[] {
    return (
      values.length === this.columns.length &&
      this.columns.every(({ isValid }, i) => {
        const value = values[i];
        // the last values are the key, which is never null
        if (value === null) return i < this.columns.length - this.#keyCount;
        return (typeof value === 'string' || typeof value === 'number') && isValid(value);
      })
    );
  }
}

function seekColumn(mapper: Mapper, meta: EntityMetadata, column: SortColumn): SeekColumn | null {
  const { property, through } = column;
  const dialect = dialectOf(mapper);
  // MikroORM joins classes with a discriminator in its own way
  if (through.some(({ targetMeta }) => targetMeta && hasDiscriminator(targetMeta))) return null;
  const kind = valueKindOf(property, mapper.driver.getPlatform());
  const isValid = seekValueCheck(kind, property, dialect);
  const isCollated = !dialect.sql.keepsCollation && through.length > 0 && property.collation !== undefined;
  if (!isValid || isCollated || property.kind !== ReferenceKind.SCALAR || property.hasConvertToJSValueSQL) return null;
  const isOwn = through.length === 0 && !property.embedded && !hasDiscriminator(meta);
  return { ...column, kind, isValid, nullable: !isOwn || property.nullable === true };
}

/** A column of a row as a token holds it. */
function seekValue(value: unknown, { kind }: ValueKind): unknown {
  if (typeof value === 'number') return kind === 'bigint' ? String(value) : value;
  if (typeof value !== 'bigint') return value;
  return kind === 'bigint' ? value.toString() : Number.isSafeInteger(Number(value)) ? Number(value) : undefined;
}

function opposite(direction: 'asc' | 'desc'): 'asc' | 'desc' {
  return direction === 'asc' ? 'desc' : 'asc';
}

/** Whether everybody can read the value at a path, in every row and as it is stored: tokens contain it in readable form. */
function isShown(plan: FieldPlan, path: string, isOpen: (embedded: EntityMetadata) => boolean): boolean {
  const found = readableProperty(plan, path);
  if (!found?.isStored || found.field.kind !== 'scalar') return false;
  return found.fields.every(
    ({ kind, metadata }) => kind !== 'to-many' && (kind !== 'to-one' || targetsOf(metadata).every(isOpen)),
  );
}
