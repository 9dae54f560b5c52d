import { LruCache } from '../../database/lru-cache.ts';
import { listed } from '../../declaration/suggest.ts';
import type { AggregateDeclaration, ListDeclaration } from '../../declaration/types.ts';
import { problem } from '../../errors.ts';
import { invalid, itemsOf } from '../../response/list-request.ts';
import type { AliasOf } from '../list/filter-path.ts';
import { ignoreTrouble, type ListQueryModel, type Trouble } from '../list/list-query.ts';
import { AggregatePlan, type AggregateSort } from './aggregate-plan.ts';
import { type AggregateTerm, functionTerm, groupTerm } from './aggregate-term.ts';

/** Query parameters of aggregates, besides those of filters and searches. */
export const aggregateParameters: readonly string[] = Object.freeze(['by', 'of', 'sort']);

/** The key of the number of rows in each result, which no field can have. */
const countName = 'count';

/** Combinations of parameters whose statements are cached. */
const cachedPlans = 200;

/** Reads which aggregates a request asks for, of those that the declaration of a list allows. */
export class AggregateReader {
  readonly maxGroups: number;
  readonly #model: ListQueryModel;
  readonly #groups = new Map<string, AggregateTerm>();
  readonly #functions = new Map<string, AggregateTerm>();
  readonly #plans = new LruCache<AggregatePlan>(cachedPlans);

  /** Aggregates that cannot work are reported to `trouble` and left out. */
  constructor(
    model: ListQueryModel,
    declared: AggregateDeclaration,
    { filters }: ListDeclaration,
    trouble: Trouble = ignoreTrouble,
  ) {
    this.#model = model;
    this.maxGroups = declared.maxGroups;
    const aliasOf = aliases();
    for (const { field, path } of declared.by) {
      const term = groupTerm(model, field, aliasOf, (message) => trouble(path, message));
      if (field === countName) trouble(path, countTrouble);
      else if (term) this.#groups.set(field, term);
    }
    for (const { field, functions, path } of declared.of) {
      if (field === countName) trouble(path, countTrouble, 'key');
      else if (declared.by.some((group) => group.field === field))
        trouble(
          path,
          `"${field}" is in "by" as well, and a result has one value of that name; remove it from one of them`,
          'key',
        );
      else
        for (const [i, name] of functions.entries()) {
          const term = functionTerm(model, field, name, aliasOf, (message) => trouble([...path, i], message));
          if (term) this.#functions.set(term.name, term);
        }
    }
    for (const { field, path } of filters)
      if (aggregateParameters.includes(field))
        trouble(path, `"${field}" is a query parameter of aggregates, and cannot be a filter`, 'key');
  }

  /** The plan for a request; throws a 400 that states what is allowed. */
  read(query: Readonly<Record<string, unknown>>): AggregatePlan {
    const by = termsOf(query, 'by', this.#groups);
    const of = termsOf(query, 'of', this.#functions);
    const sort = this.#sortOf(query, by);
    const key = JSON.stringify([by, of, sort].map((terms) => terms.map((term) => ('term' in term ? sortKey(term) : term.name))));
    return this.#plans.get(key, () => new AggregatePlan(this.#model, by, of, sort));
  }

  #sortOf(query: Readonly<Record<string, unknown>>, by: readonly AggregateTerm[]): readonly AggregateSort[] {
    const sortable = new Map<string, AggregateTerm | null>([
      ...by.map((term) => [term.name, term] as const),
      ...this.#functions,
      [countName, null],
    ]);
    const sort = new Map<string, AggregateSort>();
    for (const item of itemsOf(query, 'sort') ?? []) {
      const name = item.replace(/^-/, '');
      const term = sortable.get(name);
      if (term === undefined) throw problem('sort_not_allowed', { given: item, allowed: listed(sortable.keys()) });
      if (sort.has(name)) throw invalid('sort', `must name each value once, and names "${name}" twice`);
      sort.set(name, { term, direction: item === name ? 'asc' : 'desc' });
    }
    return [...sort.values()];
  }
}

const countTrouble = '"count" is the number of rows in each result; give the field another name in JSON, or remove it';

function termsOf(
  query: Readonly<Record<string, unknown>>,
  name: 'by' | 'of',
  known: ReadonlyMap<string, AggregateTerm>,
): readonly AggregateTerm[] {
  const terms = new Map<string, AggregateTerm>();
  for (const item of itemsOf(query, name) ?? []) {
    const term = known.get(item);
    if (!term) throw problem('aggregate_not_allowed', { name, given: item, allowed: listed(known.keys()) || 'none' });
    if (terms.has(item)) throw invalid(name, `must name each value once, and names "${item}" twice`);
    terms.set(item, term);
  }
  return [...terms.values()];
}

function sortKey({ direction, term }: AggregateSort): string {
  return `${direction} ${term?.name ?? countName}`;
}

/** Names each association once, so that paths through the same association share its rows. */
function aliases(): AliasOf {
  const known = new Map<string, string>();
  return (names) => {
    const key = JSON.stringify(names);
    const alias = known.get(key) ?? `joined${known.size}`;
    known.set(key, alias);
    return alias;
  };
}
