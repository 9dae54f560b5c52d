import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Column } from '../change/stored-columns.ts';
import type { Mapper } from '../database/mapper.ts';
import { dialectOf, type SqlSyntax } from '../dialect/dialect.ts';
import { versionOf } from '../model/version.ts';
import { columnOf } from '../query/rows/table-name.ts';

/** The column of a version property, and the expression of its next value. */
interface NextVersion {
  readonly column: string;
  readonly next: string;
}

/** The same expression that MikroORM writes. */
export function nextVersion(mapper: Mapper, property: EntityProperty): NextVersion {
  const column = columnOf(mapper, property);
  const isTime = property.runtimeType === 'Date';
  const next = isTime ? mapper.driver.getPlatform().getCurrentTimestampSQL(property.length) : `${column} + 1`;
  return { column, next };
}

/** Writes the `set` clauses of statements that change rows of a model. */
export class Assignments {
  readonly #sql: SqlSyntax;
  readonly #version: NextVersion | null;

  constructor(mapper: Mapper, meta: EntityMetadata) {
    this.#sql = dialectOf(mapper).sql;
    const version = versionOf(meta);
    this.#version = version && nextVersion(mapper, version);
  }

  get hasVersion(): boolean {
    return this.#version !== null;
  }

  /**
   * Sets columns. The row gets a new version if one of them gets another value, or if `isChanged`, a condition or known already.
   * `parameter` makes the parameter of a value, with its type if that is given.
   */
  text<Value extends Column>(
    columns: readonly Value[],
    parameter: (value: Value, index: number, type?: string) => string,
    isChanged: string | boolean = false,
  ): string {
    // a parameter that is used twice needs a type
    const isTyped = this.#version !== null && isChanged !== true;
    const values = columns.map((value, i) => parameter(value, i, isTyped ? value.type : undefined));
    const sets = columns.map(({ column }, i) => `${column} = ${values[i]}`);
    if (!this.#version) return sets.join(', ');
    const { column, next } = this.#version;
    const changes = columns.map((each, i) => this.#sql.differ(each.column, values[i] as string, each.type));
    if (typeof isChanged === 'string') changes.push(isChanged);
    const value = isChanged === true ? next : `case when ${changes.join(' or ')} then ${next} else ${column} end`;
    return [...sets, `${column} = ${value}`].join(', ');
  }
}
