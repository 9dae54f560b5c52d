import type { EntityMetadata } from '@mikro-orm/core';
import type { Statement } from '../database/executor.ts';
import { LruCache } from '../database/lru-cache.ts';
import type { Mapper } from '../database/mapper.ts';
import type { Step, Writer } from '../database/writer.ts';
import { type Dialect, dialectOf } from '../dialect/dialect.ts';
import { valuesOf } from '../model/composite-key.ts';
import type { Identifier } from '../model/identifier.ts';
import { asRow } from '../model/key-condition.ts';
import { keyColumns, type Pivot } from '../query/rows/association.ts';
import { keyOfText, noText, type QueryText, statementOf } from '../query/rows/bound-statement.ts';
import type { CompiledRead } from '../query/rows/compiled-read.ts';
import { rootTableAlias } from '../query/rows/row-plan.ts';
import type { Reading } from '../query/rows/row-texts.ts';
import { tableOf } from '../query/rows/table-name.ts';
import { isSeenText, type SeenRows } from '../query/visibility/visibility-columns.ts';
import type { Condition, RowChanges } from './row-changes.ts';

/** Maximum of cached statements, one for each condition on the owner and the item. */
const maxCachedStatements = 200;

/** Adds to and removes from a many-to-many association by statements on its pivot table, under a lock on the owner's row. */
export class RowLinks {
  readonly #writer: Writer;
  readonly #dialect: Dialect;
  readonly #owners: RowChanges;
  readonly #items: CompiledRead;
  readonly #pivot: Pivot;
  readonly #itemTable: string;
  readonly #itemKeys: readonly string[];
  readonly #statements = new LruCache<Statement>(maxCachedStatements);

  constructor(
    mapper: Mapper,
    target: EntityMetadata,
    pivot: Pivot,
    { items, owners, writer }: { owners: RowChanges; items: CompiledRead; writer: Writer },
  ) {
    this.#writer = writer;
    this.#dialect = dialectOf(mapper);
    this.#owners = owners;
    this.#items = items;
    this.#pivot = pivot;
    this.#itemTable = tableOf(mapper, target);
    this.#itemKeys = keyColumns(mapper, target);
  }

  /** The table that adding and removing changes. */
  get table(): string {
    return this.#pivot.table;
  }

  /** Adds or removes an item and returns its row; undefined if it is missing, or its owner does not fulfil the condition. */
  async change(
    what: 'add' | 'remove',
    owner: Identifier,
    item: Identifier,
    condition: Condition,
    reading: Reading,
    seen: readonly SeenRows[] | 'all',
  ): Promise<unknown[] | undefined> {
    const { sql, values } = this.#dialect;
    const keys = [...valuesOf(owner), ...valuesOf(item)].map((value) => values.bindable(value));
    // a statement that changes the owner must not lock it: after waiting for another, PostgreSQL cannot run the other change again
    if (sql.changesWithin && !this.#owners.assignments.hasVersion)
      return (await this.#writer.change(this.#inOne(what, keys, this.#ownerText(condition, seen, keys.length), reading)))[0];
    // a statement must not have unused parameters
    const used = seen === 'all' ? this.#owners.keys.length : keys.length;
    const selecting = this.#ownerText(condition, seen, used);
    const statement = this.#statements.get(keyOfText(selecting), () => statementOf(selecting.sql));
    const owning: Step = { statement, parameters: [...keys.slice(0, used), ...selecting.params] };
    const steps = this.#inSteps(what, keys, owning, this.#items.byKey(item, reading));
    return (await this.#writer.change(steps))[0];
  }

  /** Selects the owner, if the caller sees the item. Their keys are the first parameters; `before` is the number of these. */
  #ownerText(condition: Condition, seen: readonly SeenRows[] | 'all', before: number): QueryText {
    return this.#owners.selecting(condition, before, (next) =>
      seen === 'all' ? noText : isSeenText(seen, () => this.#item, next, this.#dialect),
    );
  }

  /** The parameters with the key of the item. */
  get #item(): readonly string[] {
    return this.#itemKeys.map((_, i) => this.#dialect.sql.parameter(this.#owners.keys.length + i + 1));
  }

  /** One statement that includes the lock and the change. */
  #inOne(what: 'add' | 'remove', keys: readonly unknown[], owner: QueryText, reading: Reading): Step[] {
    const isItem = [this.#isItem(rootTableAlias), 'exists (select 1 from _owner)'];
    const shown = this.#items.reading(isItem, keys.length + owner.params.length, reading);
    const statement = this.#statements.get(`${what};${keyOfText(owner)};${keyOfText(shown)}`, () =>
      statementOf(`with _owner as (${owner.sql}), _change as (${this.#changeText(what)}) ${shown.sql}`, this.#items.isWide),
    );
    return [{ statement, parameters: [...keys, ...owner.params, ...shown.params] }];
  }

  /** Selects the owner before the change: a restriction that depends on links may exclude it afterwards. */
  #inSteps(what: 'add' | 'remove', keys: readonly unknown[], owning: Step, reading: Step): Step[] {
    const own = this.#owners.keys.map((key, i) => `${key} as key${i}`).join(', ');
    const owner = `select ${own} from ${this.#owners.table} as ${rootTableAlias} where ${this.#owners.hasKey()}`;
    const change = `with _owner as (${owner}) ${this.#changeText(what)} returning 1`;
    const changing: Step = { statement: statementOf(change), parameters: keys, mayBeEmpty: true };
    const { assignments } = this.#owners;
    return [owning, changing, ...(assignments.hasVersion ? [this.#newVersion(keys)] : []), reading];
  }

  /** Gives the owner a new version if the step before has changed a link. */
  #newVersion(keys: readonly unknown[]): Step {
    const { assignments, keys: names, table } = this.#owners;
    const set = assignments.text([], () => '', true);
    const isChanged = `${this.#dialect.sql.typedParameter(names.length + 1, 'int')} = 1`;
    const text = `update ${table} as ${rootTableAlias} set ${set} where ${this.#owners.hasKey()} and ${isChanged} returning 1`;
    const own = keys.slice(0, names.length);
    return { statement: statementOf(text), parameters: (links) => [...own, links.length > 0 ? 1 : 0], mayBeEmpty: true };
  }

  #isItem(alias: string): string {
    return this.#itemKeys.map((key, i) => `${alias}.${key} = ${this.#item[i]}`).join(' and ');
  }

  #changeText(what: 'add' | 'remove'): string {
    const { item, owner, table } = this.#pivot;
    const names = owner.map((_, i) => `key${i}`);
    if (what === 'remove') {
      const isItem = item.map((column, i) => `${column} = ${this.#item[i]}`).join(' and ');
      return `delete from ${table} where ${asRow(owner)} in (select ${names.join(', ')} from _owner) and ${isItem}`;
    }
    const columns = [...owner, ...item].join(', ');
    const keys = [...names.map((name) => `o.${name}`), ...this.#itemKeys.map((key) => `i.${key}`)].join(', ');
    const links = `select ${keys} from _owner as o, ${this.#itemTable} as i where ${this.#isItem('i')}`;
    // with named columns, the statement fails if the table could hold a link twice
    return `insert into ${table} (${columns}) ${links} on conflict (${columns}) do nothing`;
  }
}
