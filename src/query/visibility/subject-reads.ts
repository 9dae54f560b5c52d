import type { EntityMetadata } from '@mikro-orm/core';
import type { Executor } from '../../database/executor.ts';
import type { Mapper } from '../../database/mapper.ts';
import { dialectOf } from '../../dialect/dialect.ts';
import { keyListText } from '../../model/composite-key.ts';
import type { FieldPlan } from '../../model/field-plan.ts';
import { isComposite, keyParts } from '../../model/identifier.ts';
import { keyColumnsOf } from '../../model/key-condition.ts';
import { type BoundStatement, statementOf } from '../rows/bound-statement.ts';
import { CompiledRead } from '../rows/compiled-read.ts';
import type { InstanceContext } from '../rows/instance.ts';
import { noFilter } from '../rows/root-filter.ts';
import { rootTableAlias } from '../rows/row-plan.ts';
import { tableOf } from '../rows/table-name.ts';
import { rowIsSeenText, type SeenRows } from './visibility-columns.ts';

interface SubjectRead {
  readonly read: CompiledRead;
  /** Selects the rows with the keys that the first parameter lists, if they are among those that the caller sees. */
  byKeys(keys: readonly unknown[], seen: readonly SeenRows[] | 'all'): BoundStatement;
}

/** Reads rows as objects for voters, by statements that are compiled once for each class. */
export class SubjectReads {
  readonly #mapper: Mapper;
  readonly #executor: Executor;
  readonly #reads = new Map<EntityMetadata, SubjectRead | null>();

  constructor(mapper: Mapper, executor: Executor) {
    this.#mapper = mapper;
    this.#executor = executor;
  }

  /**
   * The rows with these keys that are among `seen`, by the texts of the keys; null if only MikroORM can make objects of them.
   */
  rows(
    meta: EntityMetadata,
    keys: readonly unknown[],
    context: InstanceContext,
    seen: readonly SeenRows[] | 'all' = 'all',
  ): Promise<ReadonlyMap<string, object>> | null {
    let known = this.#reads.get(meta);
    if (known === undefined) {
      known = this.#compile(meta);
      this.#reads.set(meta, known);
    }
    return known && this.#load(known, known.byKeys(keys, seen), context);
  }

  async #load({ read }: SubjectRead, { parameters, statement }: BoundStatement, context: InstanceContext) {
    const rows = await this.#executor.rows(statement, parameters);
    return new Map(rows.map((row) => [String(read.keyOf(row)), read.subjectOf(row, context)]));
  }

  #compile(meta: EntityMetadata): SubjectRead | null {
    const parts = keyParts(meta);
    if (!isComposite(meta) && meta.getPrimaryProp().customType) return null;
    const nothing: FieldPlan = { variants: new Map([[meta, []]]) };
    const options = { withSubject: true, filter: noFilter };
    const read = CompiledRead.compile(this.#mapper, meta, nothing, [], this.#executor, options);
    if (!(read instanceof CompiledRead) || read.subjectRefusal !== null) return null;
    const dialect = dialectOf(this.#mapper);
    const { sql, values } = dialect;
    const columns = keyColumnsOf(meta, this.#mapper.driver.getPlatform(), rootTableAlias);
    const types = parts.map(({ type }) => type);
    const among = isComposite(meta)
      ? sql.amongKeys(columns, types, sql.parameter(1))
      : sql.among(columns, sql.parameter(1)).join('');
    const row = { table: tableOf(this.#mapper, meta), keys: columns };
    const all = statementOf(read.selectText([among]), read.isWide);
    return {
      read,
      byKeys: (keys, seen) => {
        const list = isComposite(meta) ? keyListText(keys) : values.list(keys);
        if (seen === 'all') return { statement: all, parameters: [list] };
        const isSeen = rowIsSeenText(seen, row, 1, dialect);
        return {
          statement: statementOf(read.selectText([among, isSeen.sql]), read.isWide),
          parameters: [list, ...isSeen.params],
        };
      },
    };
  }
}
