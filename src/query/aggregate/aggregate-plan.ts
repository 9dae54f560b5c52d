import type { EntityMetadata } from '@mikro-orm/core';
import { dialectOf } from '../../dialect/dialect.ts';
import type { CsvColumn } from '../../serialization/csv.ts';
import type { RowFormat } from '../../serialization/kind-conversions.ts';
import { compileRowWriter, type RowField, type RowWriter } from '../../serialization/row-writer.ts';
import { type Condition, hiddenIn } from '../list/condition.ts';
import type { ListQueryModel } from '../list/list-query.ts';
import type { AggregateTerm, ValueField } from './aggregate-term.ts';

/** A value that results are sorted by; null: the number of rows. */
export interface AggregateSort {
  readonly term: AggregateTerm | null;
  readonly direction: 'asc' | 'desc';
}

/** The parts of the statement for one combination of groups, aggregates and order, and the writer of its rows. */
export class AggregatePlan {
  /** `e."kind", count(*), sum(e."amount")` */
  readonly columns: string;
  /** The columns that rows are grouped by; empty if there is one result for all rows. */
  readonly groups: string;
  readonly joins: readonly Condition[];
  /** ` group by 1`; empty without groups. */
  readonly groupBy: string;
  readonly orderBy: string;
  readonly isWide: boolean;
  readonly csvColumns: readonly CsvColumn[];
  /** The classes of joined rows that can be hidden from the caller. */
  readonly hidden: readonly EntityMetadata[];
  readonly #fields: readonly RowField[];
  #writer: RowWriter | null = null;

  constructor(
    { mapper }: Pick<ListQueryModel, 'mapper'>,
    by: readonly AggregateTerm[],
    of: readonly AggregateTerm[],
    sort: readonly AggregateSort[],
  ) {
    const terms = [...by, ...of];
    const positions = by.map((_, index) => index + 1).join(', ');
    this.groups = by.map(({ sql }) => sql).join(', ');
    this.columns = [...by.map(({ sql }) => sql), 'count(*)', ...of.map(({ sql }) => sql)].join(', ');
    this.joins = joinsOf([...terms, ...sort.flatMap(({ term }) => term ?? [])]);
    this.hidden = hiddenIn(this.joins.flat());
    this.groupBy = by.length === 0 ? '' : ` group by ${positions}`;
    this.orderBy = by.length === 0 ? '' : ` order by ${orderOf(by, sort, dialectOf(mapper).sql.nullsLast).join(', ')}`;
    this.isWide = terms.some(({ isWide }) => isWide);
    this.#fields = fieldsOf(by, of);
    this.csvColumns = this.#fields.flatMap((field) =>
      field.kind === 'embedded' ? field.fields.map(({ name }) => [field.name, name]) : [[field.name]],
    );
  }

  /** Writes results as JSON. */
  writer(format: RowFormat): RowWriter {
    const object = { presence: null, discriminator: null, variants: [{ type: null, fields: this.#fields }] };
    this.#writer ??= compileRowWriter(object, format);
    return this.#writer;
  }
}

/** The groups, the number of rows, and the aggregates of each field in an object. */
function fieldsOf(by: readonly AggregateTerm[], of: readonly AggregateTerm[]): readonly RowField[] {
  const groups = by.map(({ value }, column): RowField => ({ ...value, column }));
  const count: ValueField = { kind: 'value', name: 'count', column: by.length, value: { kind: 'bigint', as: 'number' } };
  const byField = Map.groupBy(
    of.map((term, index) => ({ term, column: by.length + 1 + index })),
    ({ term: { name, value } }) => name.slice(0, -value.name.length - 1),
  );
  const aggregates = [...byField].map(
    ([name, terms]): RowField => ({
      kind: 'embedded',
      name,
      columns: null,
      fields: terms.map(({ column, term }) => ({ ...term.value, column })),
    }),
  );
  return [...groups, count, ...aggregates];
}

/** The joins of terms, each once. Joins through the same association have the same text. */
function joinsOf(terms: readonly AggregateTerm[]): readonly Condition[] {
  const joins = new Map<string, Condition>();
  for (const join of terms.flatMap((term) => term.joins)) joins.set(JSON.stringify(join.map(partKey)), join);
  return [...joins.values()];
}

function partKey(part: Condition[number]): unknown {
  return typeof part === 'string' || part.kind !== 'seen' ? part : [part.alias, part.meta.className];
}

/** Groups without a value come last, on every database. The groups themselves end every order. */
function orderOf(
  by: readonly AggregateTerm[],
  sort: readonly AggregateSort[],
  nullsLast: (direction: 'asc' | 'desc') => boolean,
): string[] {
  const rest = by.filter((term) => !sort.some((own) => own.term === term)).map((term) => ({ term, direction: 'asc' }) as const);
  return [...sort, ...rest].flatMap(({ direction, term }) => {
    const position = term === null ? -1 : by.indexOf(term);
    const columns = term === null ? ['count(*)'] : position >= 0 ? [String(position + 1)] : term.order;
    return columns.map((column) => `${column} ${direction}${nullsLast(direction) ? '' : ' nulls last'}`);
  });
}
