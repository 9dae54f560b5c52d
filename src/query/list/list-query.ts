import type { EntityMetadata } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import { type FilterOperator, operatorsSuiting } from '../../declaration/filter-operators.ts';
import { didYouMean, listed } from '../../declaration/suggest.ts';
import type { ListDeclaration, PaginationDeclaration, Path, SearchDeclaration, SortKey } from '../../declaration/types.ts';
import { dialectOf } from '../../dialect/dialect.ts';
import { isStorableText } from '../../dialect/storable.ts';
import { problem } from '../../errors.ts';
import { chooseFields, type FieldChoice, pathsIn } from '../../model/field-choice.ts';
import type { FieldPlan } from '../../model/field-plan.ts';
import { readableField } from '../../model/readable-field.ts';
import {
  invalid,
  type ListParameters,
  type ListRequest,
  readListRequest,
  reservedParameters,
  type WrittenGroup,
} from '../../response/list-request.ts';
import { NotCompilable } from '../rows/association.ts';
import { allOf, anyOf, type Condition, type VisibleRows } from './condition.ts';
import { type ConditionMaker, conditionMaker, matches, type TextMatching } from './filter-operator.ts';
import { type AliasOf, type FilterPath, filterPath, type IsHiding } from './filter-path.ts';
import { kindName, operatorsFor, patternOf } from './filter-value.ts';
import { fulltextCondition } from './search-index.ts';

/** The list parameters of a request: which rows, in which order, and with which fields. */
export interface ListQuery {
  /** Null: all rows that the caller sees. */
  readonly condition: Condition | null;
  /** Null: the default order of the list. */
  readonly sort: readonly SortKey[] | null;
  /** Null: all fields that the caller may read. */
  readonly choice: FieldChoice | null;
  /** Which rows the caller sees of those classes in the condition that hide rows; null: none. */
  readonly visibleRows: VisibleRows | null;
}

export const emptyListQuery: ListQuery = Object.freeze({ condition: null, sort: null, choice: null, visibleRows: null });

/** The model of a list, as far as list parameters depend on it. */
export interface ListQueryModel {
  readonly mapper: Mapper;
  readonly meta: EntityMetadata;
  /** The fields that callers can read. */
  readonly plan: FieldPlan;
  /** Its groups, for messages at startup. */
  readonly groups?: readonly string[];
  readonly isHiding: IsHiding;
  readonly matching: TextMatching;
}

/** Reports an error in a declaration. */
export type Trouble = (path: Path, message: string, of?: 'key') => void;

/** Maximum of words in one search. */
const maxWords = 8;

/** Reads the list parameters that the declaration of one list allows. Everything is prepared at startup. */
export class ListQueryReader {
  readonly #filters = new Map<string, ReadonlyMap<FilterOperator, ConditionMaker>>();
  readonly #sort = new Map<string, string>();
  readonly #search: ((words: readonly string[]) => Condition) | null;
  readonly #plan: FieldPlan;
  readonly #parameters: ListParameters;

  /** Filters, orders and searches that cannot work are reported to `trouble` and left out. */
  constructor(model: ListQueryModel, declared: ListDeclaration, limits: PaginationDeclaration, trouble: Trouble = ignoreTrouble) {
    this.#plan = model.plan;
    for (const filter of declared.filters) {
      const path = pathOf(model, filter.field, (message) => trouble(filter.path, message, 'key'));
      if (reservedParameters.includes(filter.field))
        trouble(filter.path, `"${filter.field}" is a reserved query parameter, and cannot be a filter`, 'key');
      else if (path) this.#filters.set(filter.field, makersOf(model, path, filter, trouble));
    }
    for (const { field, path } of declared.sort) {
      const property = sortPath(model, field, (message) => trouble(path, message));
      if (property !== null) this.#sort.set(field, property);
    }
    this.#search = declared.search ? searchOf(model, declared.search, trouble) : null;
    this.#parameters = {
      filters: new Map([...this.#filters].map(([field, makers]) => [field, [...makers.keys()]])),
      hasSort: this.#sort.size > 0,
      hasSearch: this.#search !== null,
      hasChoice: true,
      maxOrDepth: limits.maxOrDepth,
      maxOrGroups: limits.maxOrGroups,
      others: [],
    };
  }

  /**
   * Reads the list parameters of a request; throws a 400 that states the allowed ones. `others` are further parameters of the
   * list. Unless `isClosed`, unknown parameters are left to the handler.
   */
  read(query: Readonly<Record<string, unknown>>, others: readonly string[], isClosed = true): ListQuery {
    if (hasOnly(query, others)) return emptyListQuery;
    const request = readListRequest(query, { ...this.#parameters, others }, isClosed);
    const condition = this.#conditionOf(request);
    const sort = request.sort && this.#sortOf(request.sort);
    const choice = request.fields && this.#choiceOf(request.fields);
    return condition || sort || choice ? { condition, sort, choice, visibleRows: null } : emptyListQuery;
  }

  /** Reads filters and searches only; throws a 400 that states these and `others`. */
  readCondition(query: Readonly<Record<string, unknown>>, others: readonly string[]): Condition | null {
    if (hasOnly(query, others)) return null;
    return this.#conditionOf(readListRequest(query, { ...this.#parameters, hasSort: false, hasChoice: false, others }));
  }

  #conditionOf({ filter, q }: ListRequest): Condition | null {
    const conditions = [...this.#groupOf(filter), ...this.#searchOf(q)];
    return conditions.length === 0 ? null : allOf(conditions);
  }

  #groupOf({ conditions, or }: WrittenGroup): Condition[] {
    const own = conditions.map(({ field, name, operator, value }) => {
      const maker = this.#filters.get(field)?.get(operator) as ConditionMaker;
      const made = maker(value);
      if ('expected' in made) throw invalid(name, made.expected);
      return made.condition;
    });
    const groups = or.map((group) => allOf(this.#groupOf(group)));
    return groups.length === 0 ? own : [...own, anyOf(groups)];
  }

  #searchOf(q: ListRequest['q']): Condition[] {
    if (q === null || !this.#search) return [];
    if (!isStorableText(q)) throw invalid('q', 'must be well-formed text without NUL characters');
    const words = [...new Set(q.split(/\s+/).filter((word) => word !== ''))];
    if (words.length > maxWords) throw invalid('q', `must not have more than ${maxWords} words`);
    return words.length === 0 ? [] : [this.#search(words)];
  }

  #sortOf(items: readonly string[]): readonly SortKey[] {
    const keys = new Map<string, SortKey>();
    for (const item of items) {
      const isDescending = item.startsWith('-');
      const property = this.#sort.get(isDescending ? item.slice(1) : item);
      if (property === undefined) throw problem('sort_not_allowed', { given: item, allowed: listed(this.#sort.keys()) });
      if (keys.has(property)) throw invalid('sort', `must name each field once, and names "${item.replace(/^-/, '')}" twice`);
      keys.set(property, { property, direction: isDescending ? 'desc' : 'asc' });
    }
    return [...keys.values()];
  }

  #choiceOf(paths: readonly string[]): FieldChoice {
    const choice = chooseFields(this.#plan, paths);
    if ('unknown' in choice) {
      const allowed = listed(pathsIn(this.#plan));
      throw problem('field_not_readable', { given: choice.unknown as string, allowed });
    }
    return choice;
  }
}

/** A shortcut, because most requests have page parameters only. */
function hasOnly(query: Readonly<Record<string, unknown>>, others: readonly string[]): boolean {
  for (const name in query) if (!others.includes(name)) return false;
  return true;
}

export const ignoreTrouble: Trouble = () => undefined;

/** The path of a field; null if lists cannot use it, which is reported with the reason. */
export function pathOf(
  { groups = [], isHiding, mapper, meta, plan }: ListQueryModel,
  field: string,
  trouble: (message: string) => void,
  aliasOf?: AliasOf,
): FilterPath | null {
  if (!readableField(plan, field)) {
    const known = pathsIn(plan);
    const [only, ...others] = new Set(groups);
    const among = others.length === 0 ? `the group "${only}"` : `one of the groups ${listed(new Set(groups))}`;
    trouble(
      `"${field}" is not in ${among} of ${meta.className};${didYouMean(field, known)} fields of the group${others.length === 0 ? '' : 's'}: ${listed(known)}`,
    );
    return null;
  }
  try {
    return filterPath(mapper, meta, plan, field, isHiding, aliasOf);
  } catch (error) {
    if (!(error instanceof NotCompilable)) throw error;
    trouble(`"${field}" cannot be used in lists: ${error.message}; remove it, or name another field`);
    return null;
  }
}

function makersOf(
  { mapper, matching }: ListQueryModel,
  path: FilterPath,
  { field, operators, path: at }: ListDeclaration['filters'][number],
  trouble: Trouble,
): ReadonlyMap<FilterOperator, ConditionMaker> {
  const { column } = path;
  const allowed = column ? operatorsFor(column.kind, column.property, dialectOf(mapper)) : operatorsSuiting('none');
  const makers = new Map<FilterOperator, ConditionMaker>();
  for (const [i, operator] of operators.entries()) {
    if (allowed.includes(operator)) makers.set(operator, conditionMaker(path, operator, matching));
    else {
      const what = column ? kindName(column.kind) : 'an association';
      trouble(
        [...at, i],
        `the operator "${operator}" does not work on "${field}", which is ${what}; allowed: ${listed(allowed)}`,
      );
    }
  }
  return makers;
}

/** The path of properties for a field of `sort`; null if it cannot be sorted by, which is reported. */
function sortPath(model: ListQueryModel, field: string, trouble: (message: string) => void): string | null {
  const path = pathOf(model, field, trouble);
  if (!path) return null;
  const readable = readableField(model.plan, field);
  const associations = (readable?.fields ?? []).filter(({ kind }) => kind === 'to-one');
  const hidden = associations.flatMap(({ metadata }) => metadata.targetMeta ?? []).find(model.isHiding);
  const column = path.column && operatorsFor(path.column.kind, path.column.property, dialectOf(model.mapper));
  const isOrdered = column ? column.includes('eq') : false;
  if (path.isMany) trouble(`cannot sort by "${field}": it can have several values`);
  else if (associations.some(({ metadata }) => metadata.polymorphic))
    trouble(`cannot sort by "${field}": it can be in one of several tables`);
  else if (hidden)
    trouble(
      `cannot sort by "${field}": an API hides rows of ${hidden.className} from some callers, and the order would reveal them; remove it, or sort by a field of ${model.meta.className} itself`,
    );
  else if (!isOrdered) trouble(`cannot sort by "${field}": it has no order`);
  else return (readable?.fields ?? []).map(({ property }) => property).join('.');
  return null;
}

function searchOf(
  model: ListQueryModel,
  { fields, path: at, using }: SearchDeclaration,
  trouble: Trouble,
): ((words: readonly string[]) => Condition) | null {
  const { mapper, matching } = model;
  const dialect = dialectOf(mapper);
  const paths = fields.flatMap(({ field, path: place }) => {
    const path = pathOf(model, field, (message) => trouble(place, message));
    if (!path) return [];
    if (path.column && operatorsFor(path.column.kind, path.column.property, dialect).includes('contains')) {
      if (using !== 'fulltext' || path.own) return [path];
      trouble(
        place,
        `"fulltext" searches columns of ${model.meta.className} itself, and "${field}" belongs to another model; use trigram`,
      );
      return [];
    }
    trouble(
      place,
      `cannot search in "${field}": it is ${path.column ? kindName(path.column.kind) : 'an association'}, not a text`,
    );
    return [];
  });
  if (paths.length === 0) {
    if (fields.length === 0) trouble(at, '"search" names no field');
    return null;
  }
  const { search } = dialect.sql;
  if (using === 'fulltext' && search) return (words) => fulltextCondition(search, paths, words);
  const found = (word: string) =>
    anyOf(paths.map((path) => path.holds((column) => matches(column, `%${patternOf(word)}%`, matching))));
  return (words) => allOf(words.map(found));
}
