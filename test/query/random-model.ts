import { defineEntity, p } from '@mikro-orm/core';
import fc from 'fast-check';

/** Models and their data, as plain values from which the same classes can be made again for another application. */
export interface Universe {
  readonly embeddables: readonly EmbeddableSpec[];
  readonly models: readonly ModelSpec[];
  readonly links: readonly LinkSpec[];
  /** What the values of the rows are made from. */
  readonly seed: number;
}

export interface ColumnSpec {
  readonly kind: ColumnKind;
  readonly nullable: boolean;
  readonly read: boolean;
  readonly renamed: boolean;
  readonly lazy: boolean;
  /** A name of its own for the column. */
  readonly column: string | null;
}

export interface EmbeddableSpec {
  readonly columns: readonly ColumnSpec[];
  /** Another embeddable inside, always one with a higher number. */
  readonly inner: { readonly target: number; readonly nullable: boolean; readonly form: EmbeddedForm } | null;
}

export type EmbeddedForm = 'inline' | 'object' | 'array';

export interface ModelSpec {
  /** Its place among the classes of one table; a plain model is alone in its own. */
  readonly family: 'plain' | 'root' | 'abstract root' | 'leaf';
  readonly key: 'integer' | 'bigint' | 'uuid' | 'string';
  readonly keyRead: boolean;
  readonly keyRenamed: boolean;
  readonly typeRead: boolean;
  readonly columns: readonly ColumnSpec[];
  readonly embedded: readonly { readonly target: number; readonly nullable: boolean; readonly form: EmbeddedForm }[];
  readonly rows: number;
  readonly sort: number;
  readonly descending: boolean;
  /** A filter that is on by default. */
  readonly filter: FilterSpec | null;
}

export interface FilterSpec {
  /** Which of the conditions that can be made for the model. */
  readonly pick: number;
  readonly operator: '$eq' | '$ne' | '$in' | '$gt' | 'null' | 'not null' | '$or' | '$not';
  readonly form: 'object' | 'function' | 'async function';
}

export interface LinkSpec {
  readonly kind: 'm:1' | '1:1' | 'm:n' | 'poly';
  readonly from: number;
  readonly to: number;
  /** The other kind of target of a polymorphic one. */
  readonly other: number;
  readonly read: boolean;
  readonly inverse: boolean;
  readonly inverseRead: boolean;
  readonly ref: boolean;
}

type Values = Record<string, unknown>;
type Any = any;

const date = (year: number, ms: number): Date => new Date(Date.UTC(2000, 0, 1) + (year - 2000) * 31_557_600_000 + ms);
const someDate = fc.oneof(
  fc.constantFrom(
    new Date(0),
    new Date(-1),
    date(1969, 999),
    date(2150, 1),
    new Date('0001-01-02T00:00:00.000Z'),
    new Date('0099-05-06T07:08:09.010Z'),
    new Date('9999-12-31T23:59:59.999Z'),
  ),
  fc.date({ min: new Date('0200-01-01T00:00:00Z'), max: new Date('9999-12-30T00:00:00Z'), noInvalidDate: true }),
);
const noNul = (text: string): string => text.replaceAll('\0', '');
const someText = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    'a',
    "it's",
    'say "hi"',
    'back\\slash',
    '\\x41',
    '\u0001\u001f\t\n\r',
    '\u2028\u2029\u007f',
    '😀🏳️‍🌈',
    'é',
    '{a,b}',
    'null',
    '?',
    '5',
    '1e3',
    'true',
    '[1]',
    '<script>',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }).map(noNul),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map(noNul),
);
const json = fc
  .jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })
  .map((value) => JSON.parse(noNul(JSON.stringify(value)).replaceAll('\\u0000', '')));
const decimalText = (whole: number, scale: number) =>
  fc
    .tuple(fc.bigInt({ min: -(10n ** BigInt(whole)) + 1n, max: 10n ** BigInt(whole) - 1n }), fc.nat({ max: 10 ** scale - 1 }))
    .map(([w, f]) => `${w}.${String(f).padStart(scale, '0')}`);
const twoDigits = (value: number): string => String(value).padStart(2, '0');

interface KindSpec {
  readonly make: () => Any;
  readonly value: fc.Arbitrary<unknown>;
}

/** Every kind of column, with values for it. */
export const kinds = {
  integer: { make: () => p.integer(), value: fc.oneof(fc.constantFrom(0, -1, 2147483647, -2147483648), fc.integer()) },
  smallint: { make: () => p.smallint(), value: fc.integer({ min: -32768, max: 32767 }) },
  tinyint: { make: () => p.tinyint(), value: fc.integer({ min: -128, max: 127 }) },
  bigint: {
    make: () => p.bigint(),
    value: fc.oneof(
      fc.constantFrom(0n, 9007199254740991n, 9007199254740992n, -9007199254740993n, 2n ** 63n - 1n, -(2n ** 63n) + 1n),
      fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n }),
    ),
  },
  bigintText: { make: () => p.bigint('string'), value: fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n }).map(String) },
  bigintNumber: { make: () => p.bigint('number'), value: fc.maxSafeInteger() },
  decimal: { make: () => p.decimal().precision(12).scale(3), value: decimalText(9, 3) },
  wideDecimal: { make: () => p.decimal().precision(30).scale(10), value: decimalText(14, 10) },
  wholeDecimal: { make: () => p.decimal(), value: fc.integer({ min: -99999, max: 99999 }).map(String) },
  decimalNumber: {
    make: () => p.decimal('number').precision(10).scale(2),
    value: fc.integer({ min: -9999999, max: 9999999 }).map((value) => value / 100),
  },
  float: {
    make: () => p.float(),
    value: fc.oneof(
      fc.constantFrom(0, 0.1, Math.fround(0.1), 1e-7, -2.5, 100000, 16777216),
      fc.float({ noNaN: true, noDefaultInfinity: true }).filter((value) => value === 0 || Math.abs(value) > 1e-37),
    ),
  },
  double: {
    make: () => p.double(),
    value: fc.oneof(
      fc.constantFrom(0, 0.1, 1e21, 1e-7, 5e-324, Number.MAX_VALUE, -2.5, 2 ** 53 + 2, 5),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
    ),
  },
  boolean: { make: () => p.boolean(), value: fc.boolean() },
  string: { make: () => p.string(), value: someText },
  text: { make: () => p.text(), value: someText },
  character: { make: () => p.character().length(5), value: fc.constantFrom('', 'a', 'abcde', ' b', 'c  ', '\'"\\') },
  uuid: { make: () => p.uuid(), value: fc.uuid() },
  date: { make: () => p.date(), value: someDate.map((value) => value.toISOString().slice(0, 10)) },
  time: {
    make: () => p.time(),
    value: fc.tuple(fc.nat(23), fc.nat(59), fc.nat(59)).map((parts) => parts.map(twoDigits).join(':')),
  },
  datetime: { make: () => p.datetime(), value: someDate },
  datetime0: { make: () => p.datetime(0), value: someDate },
  datetime3: { make: () => p.datetime(3), value: someDate },
  datetime6: { make: () => p.datetime(6), value: someDate },
  localDatetime: { make: () => p.datetime().columnType('timestamp'), value: someDate },
  interval: { make: () => p.interval(), value: fc.constantFrom('1 day', '02:00:00', '-3 days', '1 year 2 mons') },
  enum: { make: () => p.enum(['red', "gr'een", 'blue "x"']), value: fc.constantFrom('red', "gr'een", 'blue "x"') },
  numberEnum: { make: () => p.enum([1, 2, 30]), value: fc.constantFrom(1, 2, 30) },
  enumArray: { make: () => p.enum(['a', 'b', 'c']).array(), value: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }) },
  strings: {
    make: () => p.array(),
    value: fc.array(
      fc.oneof(
        fc.constantFrom('', 'a,b', '"q"', '\\', '{}', 'null', 'NULL', '😀', "it's", ' a '),
        fc.string({ unit: 'grapheme', maxLength: 5 }).map(noNul),
      ),
      { maxLength: 4 },
    ),
  },
  json: { make: () => p.json(), value: json.filter((value) => value !== null) },
  blob: { make: () => p.blob(), value: fc.uint8Array({ maxLength: 10 }).map((bytes) => Buffer.from(bytes)) },
} satisfies Record<string, KindSpec>;

export type ColumnKind = keyof typeof kinds;

const kindNames = Object.keys(kinds) as ColumnKind[];
const columnNames = ['order', 'select', 'Group By', 'from', 'CamelCase', 'key', 'page', 'e'];

const column: fc.Arbitrary<ColumnSpec> = fc.record({
  kind: fc.constantFrom(...kindNames),
  nullable: fc.boolean(),
  read: fc.integer({ min: 0, max: 3 }).map((value) => value > 0),
  renamed: fc.boolean(),
  lazy: fc.integer({ min: 0, max: 5 }).map((value) => value === 0),
  column: fc.option(fc.constantFrom(...columnNames), { freq: 3 }),
});
const form = fc.constantFrom<EmbeddedForm>('inline', 'inline', 'object', 'array');
const embeddedIn = fc.record({ target: fc.nat(2), nullable: fc.boolean(), form });

const model = (family: ModelSpec['family']): fc.Arbitrary<ModelSpec> =>
  fc.record({
    family: fc.constant(family),
    key: fc.constantFrom('integer', 'bigint', 'uuid', 'string'),
    keyRead: fc.integer({ min: 0, max: 4 }).map((value) => value > 0),
    keyRenamed: fc.integer({ min: 0, max: 4 }).map((value) => value === 0),
    typeRead: fc.boolean(),
    columns: fc.array(column, { minLength: 1, maxLength: 5 }),
    embedded: fc.array(embeddedIn, { maxLength: 2 }),
    rows: fc.nat(4),
    sort: fc.nat(20),
    descending: fc.boolean(),
    filter: fc.constant(null),
  });

const filter: fc.Arbitrary<FilterSpec> = fc.record({
  pick: fc.nat(30),
  operator: fc.constantFrom('$eq', '$ne', '$in', '$gt', 'null', 'not null', '$or', '$not'),
  form: fc.constantFrom('object', 'object', 'object', 'function', 'async function'),
});

const link: fc.Arbitrary<LinkSpec> = fc.record({
  kind: fc.constantFrom('m:1', 'm:1', '1:1', 'm:n', 'm:n', 'poly'),
  from: fc.nat(9),
  to: fc.nat(9),
  other: fc.nat(9),
  read: fc.integer({ min: 0, max: 3 }).map((value) => value > 0),
  inverse: fc.boolean(),
  inverseRead: fc.integer({ min: 0, max: 3 }).map((value) => value > 0),
  ref: fc.integer({ min: 0, max: 3 }).map((value) => value === 0),
});

export const universe: fc.Arbitrary<Universe> = fc
  .record({
    embeddables: fc.array(
      fc.record({
        columns: fc.array(
          column.map((given) => ({ ...given, lazy: false })),
          { minLength: 1, maxLength: 3 },
        ),
        inner: fc.option(embeddedIn),
      }),
      { minLength: 3, maxLength: 3 },
    ),
    plain: fc.array(model('plain'), { minLength: 1, maxLength: 2 }),
    table: fc.option(
      fc.tuple(fc.oneof(model('root'), model('abstract root')), fc.array(model('leaf'), { minLength: 1, maxLength: 2 })),
    ),
    links: fc.array(link, { maxLength: 5 }),
    seed: fc.nat(),
  })
  .map(({ plain, table, ...rest }) => ({ ...rest, models: [...plain, ...(table ? [table[0], ...table[1]] : [])] }));

/** The same with filters: on one model, and at times on a second one. */
export const filteredUniverse: fc.Arbitrary<Universe> = fc
  .record({ made: universe, first: fc.nat(9), filters: fc.tuple(filter, fc.option(filter, { freq: 3 })) })
  .map(({ filters, first, made }) => ({
    ...made,
    models: made.models.map((spec, index) => {
      const place = (index - (first % made.models.length) + made.models.length) % made.models.length;
      return { ...spec, filter: filters[place] ?? null };
    }),
  }));

const rootOf = ({ models }: Universe): number => models.findIndex(({ family }) => family.endsWith('root'));

/** The class, among those of its table, that says what the key is. */
function keyModel(universe: Universe, index: number): ModelSpec {
  return universe.models[universe.models[index]?.family === 'leaf' ? rootOf(universe) : index] as ModelSpec;
}

export const className = (index: number): string => `Model${index}`;

/** The links that make sense among the models there are, and the ends of each. */
export function linksOf(universe: Universe): (LinkSpec & { name: string; index: number })[] {
  const count = universe.models.length;
  return universe.links.flatMap((given, index) => {
    const from = given.from % count;
    const to = given.to % count;
    const other = given.other % count;
    // MikroORM looks for the other end of a one-to-one among rows of the owner's very class, and misses those of its subclasses
    const isSought = given.kind !== '1:1' || universe.models[from]?.family === 'plain';
    // and so it does with the items of a many-to-many
    const isRoot = (end: number) => universe.models[end]?.family === 'root';
    const kind = given.kind === 'm:n' && isRoot(to) ? 'm:1' : given.kind;
    const inverse = given.inverse && isSought && !(kind === 'm:n' && isRoot(rootIndex(universe, from)));
    const named = { ...given, kind, from, to, other, index, name: `link${index}`, inverse };
    if (given.kind !== 'poly') return [named];
    // one column holds the keys of both, and no two of its targets share a table
    const isPair =
      keyModel(universe, to).key === keyModel(universe, other).key && rootIndex(universe, to) !== rootIndex(universe, other);
    return [isPair ? named : { ...named, kind: 'm:1' as const }];
  });
}

function rootIndex(universe: Universe, index: number): number {
  return universe.models[index]?.family === 'leaf' ? rootOf(universe) : index;
}

function propertyOf(spec: ColumnSpec, name: string, taken: Set<string>): Any {
  let property = (kinds[spec.kind] as KindSpec).make();
  if (spec.nullable) property = property.nullable();
  if (spec.read) property = property.groups('read');
  if (spec.renamed) property = property.serializedName(`${name} "renamed" \u2028 é`);
  if (spec.lazy) property = property.lazy();
  if (spec.column && !taken.has(spec.column)) {
    taken.add(spec.column);
    property = property.fieldName(spec.column);
  }
  return property;
}

/** The kinds of columns that both databases compare alike. */
const comparable: readonly ColumnKind[] = ['integer', 'bigint', 'boolean', 'string', 'uuid', 'datetime', 'enum', 'numberEnum'];

/** The conditions that a filter of a model can be about: paths to a column, with a value to compare it with. */
function conditionPaths(universe: Universe, index: number): { path: string[]; value: unknown }[] {
  const { rows } = rowsOf(universe);
  // a value that a row has, so that some are shown and others are not
  const existing = (kind: ColumnKind, name: string) =>
    rows.find(({ values }) => (values[name] ?? null) !== null)?.values[name] ??
    fc.sample((kinds[kind] as KindSpec).value, { seed: universe.seed, numRuns: 1 })[0];
  const columns = (model: number, before: string[]) =>
    (universe.models[model] as ModelSpec).columns.flatMap(({ kind }, i) =>
      comparable.includes(kind) ? [{ path: [...before, `field${model}_${i}`], value: existing(kind, `field${model}_${i}`) }] : [],
    );
  const paths = columns(index, []);
  for (const { from, kind, name, to } of linksOf(universe)) {
    if (from !== index || kind === 'poly') continue;
    const key = rows.find(({ model }) => rootIndex(universe, model) === rootIndex(universe, to))?.id;
    if (key !== undefined && kind !== 'm:n') paths.push({ path: [name], value: key });
    // what is only of a table's root is there in every row of it
    if (universe.models[to]?.family === 'plain') paths.push(...columns(to, [name]));
  }
  return paths;
}

/** Whether a filter looks at rows that others point to: they may have filters of their own. */
export function looksAtOthers(universe: Universe, index: number): boolean {
  const { filter } = universe.models[index] as ModelSpec;
  const paths = filter ? conditionPaths(universe, index) : [];
  return filter !== null && paths.length > 0 && (paths[filter.pick % paths.length]?.path.length ?? 0) > 1;
}

function conditionOf(universe: Universe, index: number, { operator, pick }: FilterSpec): Values | null {
  const paths = conditionPaths(universe, index);
  if (paths.length === 0) return null;
  const { path, value } = paths[pick % paths.length] as (typeof paths)[number];
  const at = (inner: unknown) => path.reduceRight<unknown>((rest, name) => ({ [name]: rest }), inner) as Values;
  switch (operator) {
    case 'null':
      return at(null);
    case 'not null':
      return at({ $ne: null });
    case '$in':
      return at({ $in: [value] });
    case '$or':
      return { $or: [at(value), at(null)] };
    case '$not':
      return { $not: at({ $eq: value }) };
    case '$gt':
      return at(path.length === 1 && path[0]?.startsWith('link') ? { $ne: value } : { $gt: value });
    default:
      return at({ [operator]: value });
  }
}

function filtersOf(universe: Universe, index: number): Values {
  const spec = (universe.models[index] as ModelSpec).filter;
  const condition = spec && conditionOf(universe, index, spec);
  if (!spec || !condition) return {};
  const forms: Record<FilterSpec['form'], () => unknown> = {
    object: () => condition,
    function: () => () => condition,
    'async function': () => async () => condition,
  };
  return { own: { name: 'own', cond: forms[spec.form](), default: true } };
}

function embeddedProperty({ nullable, form }: { nullable: boolean; form: EmbeddedForm }, target: Any): Any {
  let property = p.embedded(target) as Any;
  if (form === 'object') property = property.object();
  if (form === 'array') property = property.array();
  if (nullable) property = property.nullable();
  return property.groups('read');
}

/** Makes the classes of a universe anew. */
export function modelsOf(universe: Universe): Any[] {
  const embeddables: Any[] = universe.embeddables.map((spec, index) => {
    const taken = new Set<string>();
    const properties: Values = {};
    for (const [i, given] of spec.columns.entries()) properties[`part${i}`] = propertyOf(given, `part${i}`, taken);
    const inner = innerOf(universe, index);
    if (inner) properties.inner = () => embeddedProperty(inner, embeddables[inner.target]);
    return defineEntity({ name: `Embeddable${index}`, embeddable: true, properties } as Any);
  });
  const made: Any[] = [];
  const taken = new Set<string>();
  for (const [index, spec] of universe.models.entries()) {
    const own = spec.family === 'leaf' || spec.family.endsWith('root') ? taken : new Set<string>();
    const properties: Values = {};
    if (spec.family !== 'leaf') properties.id = keyProperty(spec);
    // a reference to an abstract class that nobody has read is of no class that has a plan
    if (spec.family.endsWith('root'))
      properties.type = spec.typeRead || spec.family === 'abstract root' ? p.string().groups('read') : p.string();
    for (const [i, given] of spec.columns.entries()) {
      // what only some of the rows of a table have is null in the others; what all have is never lazy, as it is loaded for rows of one class
      const kept = {
        ...given,
        nullable: given.nullable || spec.family === 'leaf',
        lazy: given.lazy && !spec.family.endsWith('root'),
      };
      properties[`field${index}_${i}`] = propertyOf(kept, `field${index}_${i}`, own);
    }
    for (const [i, given] of spec.embedded.entries())
      properties[`embedded${index}_${i}`] = () =>
        embeddedProperty(spec.family === 'leaf' ? { ...given, nullable: true } : given, embeddables[given.target]);
    for (const { from, index: number, inverse, inverseRead, kind, name, other, read, ref, to } of linksOf(universe)) {
      const grouped = (property: Any, shown: boolean) => (shown ? property.groups('read') : property);
      if (from === index) {
        properties[name] = () => {
          const target = kind === 'poly' ? [made[to], made[other]] : made[to];
          const make = kind === 'm:n' ? p.manyToMany : kind === '1:1' ? p.oneToOne : p.manyToOne;
          let property = (make as Any)(target);
          if (kind !== 'm:n') property = property.nullable();
          if (kind === '1:1' || kind === 'm:n') property = property.owner();
          if (kind !== 'm:n' && ref) property = property.ref();
          // by themselves, two classes of one table would be given one column
          if (kind === 'm:n' && (ref || rootIndex(universe, from) === rootIndex(universe, to)))
            property = property.joinColumn(`from ${number}`).inverseJoinColumn(`to_${number}`);
          if (inverse && kind !== 'poly') property = property.inversedBy(`back${number}`);
          return grouped(property, read);
        };
      }
      if (to === index && inverse && kind !== 'poly') {
        properties[`back${number}`] = () => {
          const make = kind === 'm:n' ? p.manyToMany : kind === '1:1' ? p.oneToOne : p.oneToMany;
          return grouped((make as Any)(made[from]).mappedBy(name), inverseRead);
        };
      }
    }
    made.push(
      defineEntity({
        name: className(index),
        filters: filtersOf(universe, index),
        ...(spec.family === 'leaf' && { extends: made[rootOf(universe)], discriminatorValue: `leaf-${index}` }),
        ...(spec.family === 'root' && { discriminatorColumn: 'type', discriminatorValue: 'root' }),
        ...(spec.family === 'abstract root' && { discriminatorColumn: 'type', abstract: true }),
        properties,
      } as Any),
    );
  }
  return [...made, ...embeddables];
}

function keyProperty({ key, keyRead, keyRenamed }: ModelSpec): Any {
  const makers = {
    integer: () => p.integer().autoincrement(false),
    bigint: () => p.bigint().autoincrement(false),
    uuid: () => p.uuid(),
    string: () => p.string(),
  };
  let property = (makers[key]() as Any).primary();
  if (keyRead) property = property.groups('read');
  if (keyRenamed) property = property.serializedName('key');
  return property;
}

function innerOf(universe: Universe, index: number) {
  const inner = universe.embeddables[index]?.inner;
  return inner && inner.target > index ? inner : null;
}

/** The paths that the rows of a model can be ordered by. */
export function sortOf(universe: Universe, index: number): string[] {
  const spec = universe.models[index] as ModelSpec;
  const sortable = ['integer', 'string', 'bigint', 'datetime', 'decimal', 'boolean', 'enum', 'numberEnum', 'uuid', 'double'];
  const paths = spec.columns.flatMap(({ kind }, i) => (sortable.includes(kind) ? [`field${index}_${i}`] : []));
  for (const { from, kind, name, to } of linksOf(universe)) {
    const target = universe.models[to] as ModelSpec;
    // in an order, too, MikroORM joins rows of the very class alone
    if (from !== index || (kind !== 'm:1' && kind !== '1:1') || target.family === 'root') continue;
    paths.push(`${name}.id`);
    for (const [i, given] of target.columns.entries()) if (sortable.includes(given.kind)) paths.push(`${name}.field${to}_${i}`);
  }
  for (const [i, { form, target }] of spec.embedded.entries()) {
    const inner = universe.embeddables[target];
    if (form === 'inline')
      for (const [j, given] of (inner?.columns ?? []).entries())
        if (sortable.includes(given.kind)) paths.push(`embedded${index}_${i}.part${j}`);
  }
  const chosen = paths[spec.sort % (paths.length + 2)];
  return chosen ? [`${spec.descending ? '-' : ''}${chosen}`] : [];
}

/** Whether rows of the class itself exist. */
export function isConcrete(universe: Universe, index: number): boolean {
  return universe.models[index]?.family !== 'abstract root';
}

export interface RowData {
  readonly model: number;
  readonly id: unknown;
  readonly values: Values;
}

/** The rows of a universe: own values, and links by class and position. */
export function rowsOf(universe: Universe): {
  rows: RowData[];
  links: { row: RowData; name: string; targets: RowData[]; many: boolean }[];
} {
  let seed = universe.seed;
  const sample = <Value>(arbitrary: fc.Arbitrary<Value>): Value => fc.sample(arbitrary, { seed: seed++, numRuns: 1 })[0] as Value;
  const columnValue = (spec: ColumnSpec): unknown => {
    if (spec.nullable && sample(fc.nat(3)) === 0) return null;
    return sample((kinds[spec.kind] as KindSpec).value);
  };
  const embeddedValue = (target: number, how: { nullable: boolean; form: EmbeddedForm }): unknown => {
    if (how.nullable && sample(fc.nat(3)) === 0) return null;
    const one = (): Values => {
      const value: Values = {};
      for (const [i, spec] of (universe.embeddables[target]?.columns ?? []).entries()) value[`part${i}`] = columnValue(spec);
      const inner = innerOf(universe, target);
      if (inner) value.inner = embeddedValue(inner.target, inner);
      return value;
    };
    return how.form === 'array' ? Array.from({ length: sample(fc.nat(2)) }, one) : one();
  };
  const keys = new Set<string>();
  const keyOf = (key: ModelSpec['key'], table: number): unknown => {
    const arbitraries = {
      integer: fc.integer({ min: -5, max: 120 }),
      bigint: fc.oneof(fc.bigInt({ min: 0n, max: 20n }), fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n })),
      uuid: fc.uuid(),
      // MikroORM drops rows that are called like a member of every object, such as "toString"
      string: someText.filter(
        (text) =>
          text !== '' &&
          !(text in {}) &&
          !/[/?#%\\]/.test(text) &&
          text.isWellFormed() &&
          [...text].every((letter) => letter > '\u001f'),
      ),
    };
    for (;;) {
      const made = sample(arbitraries[key] as fc.Arbitrary<unknown>);
      const name = `${table} ${String(made)}`;
      if (!keys.has(name)) {
        keys.add(name);
        return made;
      }
    }
  };
  const rows: RowData[] = [];
  for (const [index, spec] of universe.models.entries()) {
    if (!isConcrete(universe, index)) continue;
    const lines = spec.family === 'leaf' ? [universe.models[rootOf(universe)] as ModelSpec, spec] : [spec];
    for (let i = 0; i < spec.rows; i++) {
      const values: Values = {};
      for (const line of lines) {
        const owner = universe.models.indexOf(line);
        for (const [j, given] of line.columns.entries()) values[`field${owner}_${j}`] = columnValue(given);
        for (const [j, given] of line.embedded.entries()) values[`embedded${owner}_${j}`] = embeddedValue(given.target, given);
      }
      rows.push({ model: index, id: keyOf(keyModel(universe, index).key, rootIndex(universe, index)), values });
    }
  }
  const isKind = (row: RowData, target: number) =>
    row.model === target ||
    (universe.models[target]?.family.endsWith('root') === true && universe.models[row.model]?.family === 'leaf');
  const links = linksOf(universe).flatMap(({ from, kind, name, other, to }) => {
    const candidates = rows.filter((row) => isKind(row, to) || (kind === 'poly' && isKind(row, other)));
    const free = new Set(candidates);
    return rows
      .filter((row) => isKind(row, from))
      .map((row) => {
        const pool = kind === '1:1' ? [...free] : candidates;
        const count = kind === 'm:n' ? sample(fc.nat(4)) : Math.min(1, sample(fc.nat(3)));
        const targets =
          pool.length === 0
            ? []
            : [...new Set(Array.from({ length: count }, () => pool[sample(fc.nat(pool.length - 1))] as RowData))];
        if (kind === '1:1') for (const target of targets) free.delete(target);
        return { row, name, targets, many: kind === 'm:n' };
      });
  });
  return { rows, links };
}
