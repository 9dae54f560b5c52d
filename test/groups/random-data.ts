import { classesOf } from './oracle.ts';
import { type ApplicationSpec, type ColumnKind, type ColumnSpec, chance, type ModelSpec } from './random-spec.ts';

export const rowsOfEach = 6;
export const owners = ['ann', 'bob', 'cid'];

export interface Row {
  /** The class, not the root class of the table. */
  readonly model: string;
  readonly id: number;
  readonly owner: string;
  readonly shown: boolean;
  /** The values of columns, by `Model.property` or `Model.embedded.part`, with the root class. Embedded objects that are null have no parts. */
  readonly values: ReadonlyMap<string, unknown>;
  /** Ids of the linked rows. */
  readonly links: ReadonlyMap<string, readonly number[]>;
}

/** The content of the database. Each text and number is unique, so a response that contains it shows this value. */
export type Data = readonly Row[];

/** Makes unique values. */
export class Values {
  #last = 0;

  of(kind: ColumnKind, pick: number): unknown {
    const number = ++this.#last;
    if (kind === 'boolean') return pick < 0.5;
    if (kind === 'integer') return 1_200_000_000 + number;
    // other prefixes, so that the order of the texts does not follow from the order in which they are made
    const text = `v${Math.floor(pick * 10)}${String(number).padStart(5, '0')}q`;
    return kind === 'json' ? { of: text } : text;
  }
}

/** What a value is recognised by in a response. */
export function tokenOf(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  const text = typeof value === 'string' ? value : (value as { of?: string } | null)?.of;
  return text ?? null;
}

/** The columns of a class with their keys. */
export function keyedColumns(spec: ModelSpec): [key: string, column: ColumnSpec][] {
  return [
    ...spec.columns.map((column): [string, ColumnSpec] => [`${spec.root}.${column.name}`, column]),
    ...spec.embedded.flatMap(({ name, parts }) =>
      parts.map((part): [string, ColumnSpec] => [`${spec.root}.${name}.${part.name}`, part]),
    ),
  ];
}

function inheritedColumns(app: ApplicationSpec, spec: ModelSpec): [string, ColumnSpec][] {
  const root = app.models.find(({ name }) => name === spec.root) as ModelSpec;
  return spec === root ? keyedColumns(spec) : [...keyedColumns(root), ...keyedColumns(spec)];
}

export function randomData(app: ApplicationSpec, values: Values, seed: number): Data {
  const random = chance(seed);
  const rows: Row[] = [];
  for (const root of app.models.filter(({ name, root: top }) => name === top)) {
    const classes = classesOf(app, root.name);
    for (let id = 1; id <= rowsOfEach; id++) {
      const spec = random.one(classes);
      const isNull = new Set(
        root.embedded.filter(({ nullable }) => nullable && random.is(0.25)).map(({ name }) => `${root.name}.${name}.`),
      );
      const cells = inheritedColumns(app, spec)
        .filter(([key]) => ![...isNull].some((prefix) => key.startsWith(prefix)))
        .map(([key, { kind }]): [string, unknown] => [key, random.is(0.15) ? null : values.of(kind, random.next())]);
      const linked = root.links.map(({ kind, name }): [string, number[]] => [
        name,
        kind === 'to-many'
          ? Array.from({ length: rowsOfEach }, (_, i) => i + 1).filter(() => random.is(0.35))
          : kind === 'to-one' && random.is(0.8)
            ? [1 + random.below(rowsOfEach)]
            : [],
      ]);
      rows.push({
        model: spec.name,
        id,
        owner: random.one(owners),
        shown: random.is(0.75),
        values: new Map(cells),
        links: new Map(linked),
      });
    }
  }
  return rows;
}

/** The same data with other values of some columns. Nulls get values too, and values become null. */
export function mutated(
  app: ApplicationSpec,
  data: Data,
  values: Values,
  seed: number,
  isUnseen: (row: Row, key: string) => boolean,
): Data {
  const random = chance(seed);
  return data.map((row) => {
    const spec = app.models.find(({ name }) => name === row.model) as ModelSpec;
    const cells = new Map(row.values);
    for (const [key, { kind }] of inheritedColumns(app, spec)) {
      if (!isUnseen(row, key)) continue;
      const before = cells.get(key);
      const next = random.is(0.15) ? null : kind === 'boolean' ? before !== true : values.of(kind, random.next());
      cells.set(key, next);
    }
    return { ...row, values: cells };
  });
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'object') return `'${JSON.stringify(value).replaceAll("'", "''")}'`;
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}

/** The statements that give the tables this content, whatever they contained. */
export function statementsFor(app: ApplicationSpec, data: Data, isSqlite: boolean): string[] {
  const roots = app.models.filter(({ name, root }) => name === root);
  const pivots = roots.flatMap((root) => root.links.filter(({ kind }) => kind === 'to-many').map((link) => ({ root, link })));
  const references = roots.flatMap((root) =>
    root.links.filter(({ kind }) => kind === 'to-one').map(({ name }) => `update ${table(root)} set ${name}_id = null`),
  );
  const restart = roots.map((root) =>
    isSqlite
      ? `update sqlite_sequence set seq = 100 where name = '${table(root)}'`
      : `select setval(pg_get_serial_sequence('${table(root)}', 'id'), 100)`,
  );
  return [
    ...pivots.map(({ link, root }) => `delete from ${pivot(root, link.name)}`),
    ...references,
    ...roots.map((root) => `delete from ${table(root)}`),
    ...roots.map((root) => insertion(app, root, data)),
    ...roots.flatMap((root) => linking(root, data)),
    ...pivots.flatMap(({ link, root }) => {
      const pairs = rowsOf(root, app, data).flatMap(({ id, links }) =>
        (links.get(link.name) ?? []).map((other) => `(${id}, ${other})`),
      );
      const columns = `${table(root)}_id, ${link.to.toLowerCase()}_id`;
      return pairs.length > 0 ? [`insert into ${pivot(root, link.name)} (${columns}) values ${pairs.join()}`] : [];
    }),
    ...restart,
  ];
}

const table = ({ name }: ModelSpec) => name.toLowerCase();
const pivot = (root: ModelSpec, link: string) => `${table(root)}_${link}`;

function rowsOf(root: ModelSpec, app: ApplicationSpec, data: Data): Row[] {
  const names = classesOf(app, root.name).map(({ name }) => name);
  return data.filter(({ model }) => names.includes(model));
}

/** The columns of a table: name, and the value in a row. */
export function tableColumns(app: ApplicationSpec, root: ModelSpec): [name: string, valueIn: (row: Row) => unknown][] {
  const columns: [string, (row: Row) => unknown][] = [
    ['id', ({ id }) => id],
    ['owner', ({ owner }) => owner],
    ['shown', ({ shown }) => shown],
  ];
  if (root.type) columns.push(['type', ({ model }) => model.toLowerCase()]);
  if (root.versioned) columns.push(['version', () => 1]);
  for (const spec of classesOf(app, root.name)) {
    for (const { name } of spec.columns) columns.push([name, ({ values }) => values.get(`${root.name}.${name}`)]);
    for (const { form, name, parts } of spec.embedded) {
      const key = (part: string) => `${root.name}.${name}.${part}`;
      if (form === 'inline')
        for (const part of parts) columns.push([`${name}_${part.name}`, ({ values }) => values.get(key(part.name))]);
      else {
        columns.push([
          name,
          ({ values }) =>
            parts.some((part) => values.has(key(part.name)))
              ? Object.fromEntries(parts.map((part) => [part.name, values.get(key(part.name)) ?? null]))
              : null,
        ]);
      }
    }
  }
  return columns;
}

function insertion(app: ApplicationSpec, root: ModelSpec, data: Data): string {
  const columns = tableColumns(app, root);
  const rows = rowsOf(root, app, data).map((row) => `(${columns.map(([, valueIn]) => literal(valueIn(row))).join()})`);
  return `insert into ${table(root)} (${columns.map(([name]) => name).join()}) values ${rows.join()}`;
}

function linking(root: ModelSpec, data: Data): string[] {
  return root.links
    .filter(({ kind }) => kind === 'to-one')
    .map(({ name }) => {
      const rows = data.filter(({ links }) => links.has(name));
      const cases = rows.flatMap(({ id, links }) => (links.get(name) ?? []).map((other) => `when ${id} then ${other}`));
      return cases.length > 0 ? `update ${table(root)} set ${name}_id = case id ${cases.join(' ')} end` : '';
    })
    .filter((sql) => sql !== '');
}
