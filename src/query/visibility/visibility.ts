import type { EntityMetadata } from '@mikro-orm/core';
import type { Executor } from '../../database/executor.ts';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import type { SortKey } from '../../declaration/types.ts';
import { type Dialect, dialectOf } from '../../dialect/dialect.ts';
import { Problem } from '../../errors.ts';
import { keyListText, keyText } from '../../model/composite-key.ts';
import { isKindOf, isOfOneClass, type ModelClass, sameLine } from '../../model/hierarchy.ts';
import { entityKey, hasWideKey, type Identifier, isComposite, keyParts } from '../../model/identifier.ts';
import { hasOneOf, keyColumnsOf } from '../../model/key-condition.ts';
import { conditionOf, conditionUnder } from '../entities/condition-query.ts';
import { keysAmong, sentKeys } from '../entities/keys.ts';
import { type AnyQueryBuilder, type Restrict, restrictedQuery, rootAlias } from '../entities/restriction.ts';
import { statementOf } from '../rows/bound-statement.ts';
import { bindableText, numberedText } from '../rows/parametrized.ts';
import { tableOf } from '../rows/table-name.ts';
import type { SubjectReads } from './subject-reads.ts';
import type { SeenClasses, SeenRows } from './visibility-columns.ts';

/** A declared API of a class, as far as the visibility of its rows is concerned. */
export interface VisibilityRule<Request> {
  readonly meta: EntityMetadata;
  /** The restriction of the API's `_entity`, or null if it has none. */
  readonly restrict: ((request: Request) => Restrict) | null;
  /** The order that decides which rows a restriction with a limit lets through. */
  readonly sort: readonly SortKey[];
  /** Whether the caller has the roles to fetch the row through this API. */
  admits(request: Request, entity: object | null): Promise<boolean>;
  /** Whether a voter reads the row to decide. */
  readonly readsSubject: boolean;
}

/**
 * Which rows a caller can see, however a request reaches them: those that a declared API of their class would return. If no API
 * of the class hides rows, all are visible. If one does, another API that hides nothing counts only for callers who may use it.
 */
export class Visibility<Request> {
  readonly #rules: VisibilityRule<Request>[] = [];
  readonly #limits = new Map<EntityMetadata, readonly VisibilityRule<Request>[]>();
  readonly #subjectRules = new Map<EntityMetadata, readonly VisibilityRule<Request>[]>();
  readonly #openingRules = new Map<EntityMetadata, readonly VisibilityRule<Request>[]>();
  readonly #open = new Map<EntityMetadata, boolean>();
  readonly #sources = new Map<EntityMetadata, RowSource>();

  add(rule: VisibilityRule<Request>): void {
    this.#rules.push(rule);
    this.#limits.clear();
    this.#subjectRules.clear();
    this.#openingRules.clear();
    this.#open.clear();
  }

  /** Whether everybody can see every row of a class, and of the classes that inherit from it. */
  isOpen(meta: EntityMetadata): boolean {
    let open = this.#open.get(meta);
    if (open === undefined) {
      open = this.#rules.every((rule) => rule.restrict === null || !sameLine(meta, rule.meta));
      this.#open.set(meta, open);
    }
    return open;
  }

  /** The rules for rows of exactly this class; none if everybody can see all of its rows. */
  limitsOf(own: EntityMetadata): readonly VisibilityRule<Request>[] {
    let limits = this.#limits.get(own);
    if (!limits) {
      const rules = this.#rules.filter((rule) => isKindOf(own, rule.meta));
      limits = rules.some((rule) => rule.restrict !== null) ? rules : [];
      this.#limits.set(own, limits);
    }
    return limits;
  }

  /** Those of them whose voters read a row to decide about it. */
  subjectRulesOf(own: EntityMetadata): readonly VisibilityRule<Request>[] {
    let rules = this.#subjectRules.get(own);
    if (!rules) {
      rules = this.limitsOf(own).filter(({ readsSubject, restrict }) => restrict === null && readsSubject);
      this.#subjectRules.set(own, rules);
    }
    return rules;
  }

  /** Those of them that show every row to the callers with their roles. */
  openingRulesOf(own: EntityMetadata): readonly VisibilityRule<Request>[] {
    let rules = this.#openingRules.get(own);
    if (!rules) {
      rules = this.limitsOf(own).filter(({ readsSubject, restrict }) => restrict === null && !readsSubject);
      this.#openingRules.set(own, rules);
    }
    return rules;
  }

  /** The table of a class, as conditions on its rows refer to it. */
  sourceOf(mapper: Mapper, meta: EntityMetadata): RowSource {
    let source = this.#sources.get(meta);
    if (!source) {
      const platform = mapper.driver.getPlatform();
      const alias = platform.quoteIdentifier(rootAlias).toString();
      const table = tableOf(mapper, meta);
      source = { table, from: `${table} as ${alias}`, keys: keyColumnsOf(meta, platform, alias) };
      this.#sources.set(meta, source);
    }
    return source;
  }
}

type RowSource = Pick<SeenRows, 'table' | 'from' | 'keys'>;

/** Loads the rows of a class by key, as objects for voters. */
export type LoadSubjects = (meta: EntityMetadata, keys: readonly unknown[]) => Promise<ReadonlyMap<string, object>>;

/** The dependencies of a visibility decision in one request. */
export interface VisibilityOptions<Request> {
  readonly visibility: Visibility<Request>;
  readonly mapper: Mapper;
  readonly executor: Executor | null;
  readonly subjects: SubjectReads | null;
  readonly request: Request;
  /** The request's own entity manager, made when first used. */
  readonly em: () => RequestEntityManager;
  /** Whether the request is in a transaction: only its connection sees what it has written. */
  readonly isInTransaction: () => boolean;
}

/** Keys in one statement. */
const chunkSize = 1000;

/** Maximum of keys of one class whose visibility is cached for the request. */
const maxCachedKeys = 10_000;

/**
 * The visibility of rows for one caller. The restriction of each API runs once per request. Results are kept by class: the metadata
 * of a property's target is another object than that of its class.
 */
export class RequestVisibility<Request> {
  readonly #options: VisibilityOptions<Request>;
  readonly #dialect: Dialect;
  #open: Map<ModelClass, Promise<boolean>> | null = null;
  readonly #queries = new Map<VisibilityRule<Request>, Promise<AnyQueryBuilder | null>>();
  /** By class and key, so that voters that read a row vote on it once. */
  #known: Map<ModelClass, Map<string, boolean>> | null = null;

  constructor(options: VisibilityOptions<Request>) {
    this.#options = options;
    this.#dialect = dialectOf(options.mapper);
  }

  /** Whether rows of a class can be hidden from somebody. */
  isLimited(meta: EntityMetadata): boolean {
    return !this.#options.visibility.isOpen(meta);
  }

  /** Whether a row's class and visibility follow from its key: it can be of one class only, and no voter has to read it. */
  isDecidedByKey(meta: EntityMetadata): boolean {
    return isOfOneClass(meta) && this.#options.visibility.subjectRulesOf(meta).length === 0;
  }

  /** Whether the caller can see every row of a class, as far as that can be decided without a row. */
  isOpen(meta: EntityMetadata): boolean | Promise<boolean> {
    const { visibility } = this.#options;
    if (visibility.limitsOf(meta).length === 0) return true;
    const rules = visibility.openingRulesOf(meta);
    if (rules.length === 0) return false;
    this.#open ??= new Map();
    const open = this.#open.get(meta.class) ?? this.#isOpenBy(rules);
    this.#open.set(meta.class, open);
    return open;
  }

  async #isOpenBy(rules: readonly VisibilityRule<Request>[]): Promise<boolean> {
    for (const rule of rules) if (await rule.admits(this.#options.request, null)) return true;
    return false;
  }

  /** The queries of the rows that the caller sees, one for each rule that has a query. */
  async queriesOf(meta: EntityMetadata): Promise<{ readonly rule: VisibilityRule<Request>; readonly query: AnyQueryBuilder }[]> {
    const found: { rule: VisibilityRule<Request>; query: AnyQueryBuilder }[] = [];
    for (const rule of this.#options.visibility.limitsOf(meta)) {
      const query = await this.#query(rule);
      if (query) found.push({ rule, query });
    }
    return found;
  }

  /** The visibility of classes as conditions for a statement; null if conditions cannot express it. */
  async seenClasses(classes: readonly EntityMetadata[]): Promise<SeenClasses | null> {
    try {
      const seen: (readonly SeenRows[] | null)[] = [];
      for (const meta of classes) {
        if (this.#options.visibility.subjectRulesOf(meta).length > 0) return null;
        const isOpen = this.isOpen(meta);
        if (isOpen !== false && (await isOpen)) {
          seen.push(null);
          continue;
        }
        const shown: SeenRows[] = [];
        for (const rule of this.#options.visibility.limitsOf(meta)) {
          const query = await this.#query(rule);
          const rows = query && this.#rowsOf(query, rule.meta);
          if (rows) shown.push(rows);
          else if (query) return null;
        }
        seen.push(shown);
      }
      return seen;
    } catch {
      // the error stays with the query, and is thrown when the visibility of a row is decided
      return null;
    }
  }

  /** The rows of a query that is only a condition; null if it is more. */
  #rowsOf(query: AnyQueryBuilder, meta: EntityMetadata): SeenRows | null {
    const condition = conditionOf(query, meta);
    const bindable = condition && bindableText(condition, this.#dialect);
    if (!bindable) return null;
    const under = (other: string) => {
      const own = conditionUnder(query, meta, other);
      return own && bindableText(own, this.#dialect);
    };
    const { mapper, visibility } = this.#options;
    const { from, keys, table } = visibility.sourceOf(mapper, meta);
    return { table, from, keys, condition: bindable, isOfRowAlone: condition.isOfRowAlone, under };
  }

  /** The texts of those keys that the caller sees. All keys are of exactly one class. */
  async seen(
    own: EntityMetadata,
    keys: ReadonlyMap<string, unknown>,
    load: LoadSubjects = this.#load,
  ): Promise<ReadonlySet<string>> {
    if (await this.isOpen(own)) return new Set(keys.keys());
    const known = this.#knownOf(own);
    const unknown = new Map([...keys].filter(([text]) => !known.has(text)));
    if (unknown.size > 0) for (const [text, isSeen] of await this.#decide(own, unknown, load)) known.set(text, isSeen);
    return new Set([...keys.keys()].filter((text) => known.get(text) === true));
  }

  #knownOf(own: EntityMetadata): Map<string, boolean> {
    this.#known ??= new Map();
    const known = this.#known.get(own.class) ?? new Map<string, boolean>();
    this.#known.set(own.class, known);
    // limits the memory, as an export can have any number of rows
    if (known.size > maxCachedKeys) known.clear();
    return known;
  }

  /** Whether the caller sees the row with a key. */
  async sees(own: EntityMetadata, id: Identifier): Promise<boolean> {
    const text = String(id);
    return (await this.seen(own, new Map([[text, id]]))).has(text);
  }

  /**
   * Looks for a row that can be of any of these classes, before anything has read it: a hidden row takes the same statements as a
   * missing one, and so the same time. A row that {@link seen} has found is not looked for again. Null: the caller sees no such
   * row. Otherwise the result decides about the row once it is read.
   */
  async lookFor(
    classes: readonly EntityMetadata[],
    id: Identifier,
  ): Promise<((own: EntityMetadata, entity: object) => Promise<boolean>) | null> {
    const text = String(id);
    const [first] = classes;
    if (classes.length === 1 && first && this.#known?.get(first.class)?.get(text)) return async () => true;
    const keys = new Map([[text, id]]);
    const shown = new Map<VisibilityRule<Request>, boolean>();
    const seen = new Map<EntityMetadata, boolean>();
    for (const own of classes) {
      const isOpen = await this.isOpen(own);
      const limits = isOpen ? [] : this.#options.visibility.limitsOf(own);
      for (const rule of limits) if (!shown.has(rule)) shown.set(rule, (await this.#shownBy(rule, keys)).length > 0);
      seen.set(own, isOpen || limits.some((rule) => shown.get(rule) === true));
    }
    if (!classes.some((own) => seen.get(own) || this.#options.visibility.subjectRulesOf(own).length > 0)) return null;
    return async (own, entity) => {
      const known = this.#knownOf(own);
      const isSeen = known.get(text) ?? (seen.get(own) || (await this.#isAdmitted(own, entity)));
      known.set(text, isSeen);
      return isSeen;
    };
  }

  async #decide(own: EntityMetadata, keys: ReadonlyMap<string, unknown>, load: LoadSubjects): Promise<Map<string, boolean>> {
    const decided = new Map([...keys.keys()].map((text) => [text, false]));
    const limits = this.#options.visibility.limitsOf(own);
    const shown = await Promise.all(limits.map((rule) => this.#shownBy(rule, keys)));
    for (const text of shown.flat()) decided.set(text, true);
    const subjectRules = this.#options.visibility.subjectRulesOf(own);
    const hidden = [...keys].filter(([text]) => !decided.get(text));
    if (subjectRules.length === 0 || hidden.length === 0) return decided;
    const subjects = await load(
      own,
      hidden.map(([, key]) => key),
    );
    for (const [text] of hidden) {
      const subject = subjects.get(text);
      if (subject) decided.set(text, await this.#isAdmitted(own, subject));
    }
    return decided;
  }

  /** Whether a voter that reads a row lets the caller see it. */
  async #isAdmitted(own: EntityMetadata, subject: object): Promise<boolean> {
    for (const rule of this.#options.visibility.subjectRulesOf(own))
      if (await rule.admits(this.#options.request, subject)) return true;
    return false;
  }

  readonly #load: LoadSubjects = async (meta, keys) => {
    const { em, subjects } = this.#options;
    const rows = this.#options.isInTransaction() ? null : subjects?.rows(meta, keys, { em });
    if (rows) return rows;
    const where = { $and: [hasOneOf(meta, this.#options.mapper.driver.getPlatform(), keys)] };
    const options = { filters: false, disableIdentityMap: true };
    const found = (await em().find(meta.class, where as never, options as never)) as object[];
    return new Map(found.map((entity) => [String(entityKey(entity)), entity]));
  };

  async #shownBy(rule: VisibilityRule<Request>, keys: ReadonlyMap<string, unknown>): Promise<string[]> {
    const query = await this.#query(rule);
    if (!query) return [];
    const rows = this.#compiledRows(query, rule.meta, keys);
    if (rows) return (await rows).map(keyText);
    const shown: string[] = [];
    const all = [...keys.values()];
    for (let start = 0; start < all.length; start += chunkSize) {
      const chunk = all.slice(start, start + chunkSize);
      const em = this.#options.em();
      const found = await sentKeys(em, rule.meta, keysAmong(em, rule.meta, query, chunk, rule.sort));
      shown.push(...found.map(String));
    }
    return shown;
  }

  /** The keys that a query selects, by a prepared statement; null if it is more than a condition, or in a transaction. */
  #compiledRows(query: AnyQueryBuilder, meta: EntityMetadata, keys: ReadonlyMap<string, unknown>): Promise<unknown[][]> | null {
    const { executor, mapper } = this.#options;
    if (!executor || this.#options.isInTransaction()) return null;
    const rows = this.#rowsOf(query, meta);
    if (!rows) return null;
    const { condition, from, keys: columns } = rows;
    const { sql, values } = this.#dialect;
    const where = numberedText(condition, this.#dialect);
    const parameter = sql.parameter(condition.params.length + 1);
    const types = keyParts(meta).map(({ type }) => type);
    const among = isComposite(meta) ? sql.amongKeys(columns, types, parameter) : sql.among([...columns], parameter).join('');
    const text = `select ${columns.join(', ')} from ${from} where ${where === '' ? '' : `${where} and `}${among}`;
    const isWide = hasWideKey(meta, mapper.driver.getPlatform());
    const list = isComposite(meta) ? keyListText(keys.values()) : values.list(keys.values());
    return executor.rows(statementOf(text, isWide), [...condition.params, list]);
  }

  /** Takes over the query of a rule that the request has already made. */
  know(rule: VisibilityRule<Request>, query: AnyQueryBuilder): void {
    if (!this.#queries.has(rule)) this.#queries.set(rule, Promise.resolve(query));
  }

  /** The query of a rule, made once per request. */
  #query(rule: VisibilityRule<Request>): Promise<AnyQueryBuilder | null> {
    const query = this.#queries.get(rule) ?? this.#restricted(rule);
    this.#queries.set(rule, query);
    return query;
  }

  async #restricted({ meta, restrict }: VisibilityRule<Request>): Promise<AnyQueryBuilder | null> {
    if (!restrict) return null;
    try {
      return await restrictedQuery(this.#options.em, meta, restrict(this.#options.request));
    } catch (error) {
      // a controller may reject the caller instead of narrowing the query
      if (error instanceof Problem && error.status < 500) return null;
      throw error;
    }
  }
}
