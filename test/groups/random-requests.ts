import {
  type Action,
  type Caller,
  chosen,
  classesOf,
  grantedGroups,
  isIn,
  modelOf,
  namesIn,
  type Shapes,
  settableOf,
  shownTo,
} from './oracle.ts';
import { columnOf, listOf } from './random-application.ts';
import { type Data, type Row, rowsOfEach, tokenOf } from './random-data.ts';
import type { ApiSpec, ApplicationSpec, ColumnKind, EmbeddedSpec, LinkSpec, PropertySpec, Random } from './random-spec.ts';

/** A random request, with what the oracle says about its response. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly action: Action;
  /** The row of the path. */
  readonly row: Row | null;
  /** Null if the oracle does not know. */
  readonly status: number | null;
  /** The fields of each row of the response. */
  readonly shapes: Shapes;
  /** The same for all classes that the row can have. */
  readonly all: Shapes;
  /** The fields that the caller could choose from. */
  readonly readable: Shapes;
  /** The keys of each result, for aggregates. */
  readonly results?: readonly string[];
  /** All names that the response may contain. */
  readonly names: ReadonlySet<string>;
  /** The same request with a name that does not exist, in place of a name that does not exist for the caller. */
  readonly twin: { readonly name: string; readonly other: string; readonly path: string; readonly body?: string } | null;
}

export interface Asking {
  readonly app: ApplicationSpec;
  readonly api: ApiSpec;
  readonly caller: Caller | null;
  readonly data: Data;
  readonly random: Random;
  /** Entity tags of other callers. */
  readonly tags: readonly string[];
}

const formats = ['json', 'json', 'json', 'xml', 'csv', 'ndjson'];

export function randomRequest(asking: Asking): Asked {
  const { random } = asking;
  if (random.is(0.5)) return random.is(0.25) && !asking.api.hooks ? aggregateRequest(asking) : listRequest(asking);
  if (random.is(0.4)) return entityRequest(asking);
  return random.is(0.35) ? creation(asking) : change(asking);
}

/** A name of the same length that does not exist. */
const otherName = (name: string): string => `y${name.slice(1)}`;

/** The one name that does not exist for the caller; null if there are several, or if the response may contain it elsewhere. */
function uniqueName(unseen: readonly string[], names: ReadonlySet<string>): string | null {
  const [name] = unseen;
  return name !== undefined && unseen.length === 1 && name.startsWith('k') && !names.has(name) ? name : null;
}

function isVisible({ api, app }: Asking, row: Row | undefined): boolean {
  return row !== undefined && (row.shown || !modelOf(app, api.model).restricted);
}

function rowOf({ api, app, data }: Asking, id: number): Row | undefined {
  const names = classesOf(app, api.model).map(({ name }) => name);
  return data.find((row) => row.id === id && names.includes(row.model));
}

function firstUnseen(shapes: Shapes, path: string): string | null {
  const parts = path.split('.');
  for (let length = 1; length <= parts.length; length++) {
    if (chosen(shapes, [parts.slice(0, length).join('.')]) === null) return parts[length - 1] as string;
  }
  return null;
}

function listRequest(asking: Asking): Asked {
  const { api, app, caller, random, tags } = asking;
  const shapes = shownTo(app, api, 'index', caller, null);
  const list = listOf(app, api);
  const unseen: string[] = [];
  const isSeen = (path: string) => {
    const name = firstUnseen(shapes, path);
    if (name !== null) unseen.push(name);
    return name === null;
  };
  const everything = Object.keys(list.filters);
  const undeclared = settableOf(app, api.model).map(({ json }) => json);
  const parameters: string[] = [];
  let isAllowed = true;
  let selected: readonly string[] | null = null;
  const add = (parameter: string, allowed: boolean) => {
    parameters.push(parameter);
    isAllowed &&= allowed;
  };
  const choices: Record<string, () => void> = {
    filter: () => {
      const path = random.is(0.9) && everything.length > 0 ? random.one(everything) : random.one(undeclared);
      const operator = random.one(list.filters[path] ?? ['eq']);
      const isDeclared = list.filters[path] !== undefined;
      add(`${path}[${operator}]=${encodeURIComponent(operand(asking, path, operator))}`, isSeen(path) && isDeclared);
    },
    sort: () => {
      const path = random.is(0.9) && list.sort.length > 0 ? random.one(list.sort) : random.one(undeclared);
      add(`sort=${random.is(0.5) ? '-' : ''}${path}`, isSeen(path) && list.sort.includes(path));
    },
    search: () => {
      const hasSearch = list.search.some((path) => firstUnseen(shapes, path) === null);
      add(`q=${random.one(['v', 'v1', 'v3', 'v5', 'q', someToken(asking)])}`, hasSearch);
    },
    fields: () => {
      const names = [...new Set([...namesIn(shapes), ...undeclared, ...everything])];
      const paths = random.shuffled(names).slice(0, 1 + random.below(2));
      selected = paths;
      const areSeen = paths.map(isSeen);
      add(
        `fields=${paths.join()}`,
        areSeen.every((seen) => seen),
      );
    },
  };
  for (const name of random.shuffled(Object.keys(choices)).slice(0, random.below(3))) choices[name]?.();
  const format = random.one(formats);
  const isPaged = format === 'json' || format === 'xml';
  if (isPaged && random.is(0.3)) add(`page=${1 + random.below(3)}`, true);
  if (isPaged && random.is(0.2)) add(`items_per_page=${1 + random.below(7)}`, true);
  const query = parameters.length > 0 ? `?${parameters.join('&')}` : '';
  const path = `/${api.name}.${format}${query}`;
  const name = uniqueName(unseen, namesIn(shapes));
  const twin = name !== null ? { name, other: otherName(name), path: path.replaceAll(name, otherName(name)) } : null;
  const rows = (selected && chosen(shapes, selected)) ?? shapes;
  return {
    method: random.is(0.1) ? 'HEAD' : 'GET',
    path,
    ...(random.is(0.1) && tags.length > 0 && { headers: { 'if-none-match': random.one(tags) } }),
    action: 'index',
    row: null,
    status: isAllowed ? 200 : 400,
    shapes: rows,
    all: rows,
    readable: shapes,
    names: namesIn(shapes),
    twin,
  };
}

function aggregateRequest(asking: Asking): Asked {
  const { api, app, caller, random } = asking;
  const shapes = shownTo(app, api, 'index', caller, null);
  const { aggregate, filters } = listOf(app, api);
  const values = Object.entries(aggregate.of).flatMap(([path, functions]) => functions.map((name) => `${path}:${name}`));
  const unseen = new Set<string>();
  let isAllowed = true;
  const check = (name: string) => {
    const missing = firstUnseen(shapes, name.replace(/:.*/, ''));
    if (missing !== null) unseen.add(missing);
    isAllowed &&= missing === null;
  };
  const some = (names: readonly string[], most: number) => random.shuffled(names).slice(0, random.below(most + 1));
  const by = some(aggregate.by, 2);
  const of = some(values, 2);
  const sort = some([...new Set(['count', ...by, ...values])], 1);
  const filter = random.is(0.3) ? some(Object.keys(filters), 1) : [];
  for (const name of [...by, ...of, ...sort.filter((each) => each !== 'count'), ...filter]) check(name);
  const parameters = [
    ...(by.length > 0 ? [`by=${by.join()}`] : []),
    ...(of.length > 0 ? [`of=${of.join()}`] : []),
    ...sort.map((name) => `sort=${random.is(0.5) ? '-' : ''}${name}`),
    ...filter.map((path) => {
      const operator = random.one(filters[path] ?? ['eq']);
      return `${path}[${operator}]=${encodeURIComponent(operand(asking, path, operator))}`;
    }),
  ];
  const format = random.one(formats);
  if ((format === 'json' || format === 'xml') && random.is(0.3)) parameters.push(`items_per_page=${1 + random.below(3)}`);
  const path = `/${api.name}/aggregate.${format}${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`;
  const name = uniqueName([...unseen], namesIn(shapes));
  return {
    method: random.is(0.1) ? 'HEAD' : 'GET',
    path,
    action: 'index',
    row: null,
    status: isAllowed ? 200 : 400,
    shapes,
    all: shapes,
    readable: shapes,
    results: [...by, 'count', ...new Set(of.map((value) => value.replace(/:.*/, '')))],
    names: namesIn(shapes),
    twin: name !== null ? { name, other: otherName(name), path: path.replaceAll(name, otherName(name)) } : null,
  };
}

/** The value of some row in a column, or a part of it. */
function operand(asking: Asking, path: string, operator: string): string {
  const { app, api, random } = asking;
  if (operator === 'exists') return random.one(['true', 'false']);
  const names = path.split('.');
  if (names.at(-1) === 'id') return String(1 + random.below(rowsOfEach));
  const column = keyOfPath(app, api, names);
  const kind = column === null ? 'string' : (columnOf(app, column)?.kind ?? 'string');
  if (kind === 'boolean') return random.one(['true', 'false']);
  const found = asking.data
    .flatMap(({ values }) => (column === null ? [] : [tokenOf(values.get(column))]))
    .filter((each) => each !== null);
  const token = found.length > 0 ? (random.one(found) as string) : kind === 'integer' ? '7' : 'v';
  return kind === 'integer' || operator === 'eq' || operator === 'in' ? token : token.slice(0, 2 + random.below(5));
}

function keyOfPath(app: ApplicationSpec, api: ApiSpec, [first, second]: readonly string[]): string | null {
  const root = modelOf(app, api.model);
  const all = classesOf(app, api.model);
  if (second === undefined) {
    const column = all.flatMap(({ columns }) => columns).find(({ json }) => json === first);
    return column ? `${root.root}.${column.name}` : null;
  }
  const embedded = all.flatMap((each) => each.embedded).find(({ json }) => json === first);
  const part = embedded?.parts.find(({ json }) => json === second);
  if (embedded && part) return `${root.root}.${embedded.name}.${part.name}`;
  const link = all.flatMap(({ links }) => links).find(({ json }) => json === first);
  const column =
    link &&
    classesOf(app, link.to)
      .flatMap(({ columns }) => columns)
      .find(({ json }) => json === second);
  return link && column ? `${modelOf(app, link.to).root}.${column.name}` : null;
}

function someToken({ data, random }: Asking): string {
  return tokenOf([...random.one(data).values.values()].find((value) => typeof value === 'string') ?? 'v') as string;
}

function entityRequest(asking: Asking): Asked {
  const { api, app, caller, random, tags } = asking;
  const id = 1 + random.below(rowsOfEach + 1);
  const row = rowOf(asking, id);
  const shapes = shownTo(app, api, 'entity', caller, row?.owner ?? null);
  return {
    method: random.is(0.15) ? 'HEAD' : 'GET',
    path: `/${api.name}/${id}.${random.one(formats)}`,
    ...(random.is(0.2) && tags.length > 0 && { headers: { 'if-none-match': random.one(tags) } }),
    action: 'entity',
    row: row ?? null,
    status: isVisible(asking, row) ? 200 : 404,
    shapes: ofClass(shapes, row),
    all: shapes,
    readable: shapes,
    names: namesIn(shapes),
    twin: null,
  };
}

const ofClass = (shapes: Shapes, row: Row | undefined): Shapes =>
  row ? new Map([...shapes].filter(([model]) => model === row.model)) : shapes;

function creation(asking: Asking): Asked {
  const { api, app, random } = asking;
  const type = random.one(classesOf(app, api.model));
  const body = randomBody(asking, 'index', type.name, null);
  const sent = type.type ? { type: type.name.toLowerCase(), ...body.sent } : body.sent;
  return written(asking, 'POST', `/${api.name}.${random.one(formats)}`, 'index', undefined, { ...body, sent }, 201);
}

function change(asking: Asking): Asked {
  const { api, random, tags } = asking;
  const id = 1 + random.below(rowsOfEach + 1);
  const row = rowOf(asking, id);
  const body = randomBody(asking, 'entity', row?.model ?? api.model, row?.owner ?? null);
  const method = random.is(0.35) ? 'PUT' : 'PATCH';
  const asked = written(asking, method, `/${api.name}/${id}.${random.one(formats)}`, 'entity', row, body, 200);
  if (tags.length === 0 || random.is(0.85)) return asked;
  return { ...asked, headers: { ...asked.headers, 'if-match': random.one(tags) }, status: null, twin: null };
}

interface RandomBody {
  readonly sent: Record<string, unknown>;
  readonly isAllowed: boolean;
  /** The names that do not exist for the caller. */
  readonly unseen: readonly string[];
}

function written(
  asking: Asking,
  method: string,
  path: string,
  action: Action,
  row: Row | undefined,
  { isAllowed, sent, unseen }: RandomBody,
  success: number,
): Asked {
  const { api, app, caller } = asking;
  const isFound = action === 'index' || isVisible(asking, row);
  const shapes = shownTo(app, api, action, caller, row?.owner ?? null);
  const body = JSON.stringify(sent);
  const name = isFound ? uniqueName(unseen, namesIn(shapes)) : null;
  const other = name === null ? null : otherName(name);
  const groups = grantedGroups(api, action, 'write', caller, row?.owner ?? null);
  const writable = classesOf(app, api.model)
    .flatMap((model) => settableOf(app, model.name))
    .filter((property) => isIn(property, groups));
  const parts = writable
    .flatMap((property) => ('parts' in property ? (property as EmbeddedSpec).parts : []))
    .filter((part) => isIn(part, groups));
  return {
    method,
    path,
    body,
    headers: { 'content-type': 'application/json' },
    action,
    row: row ?? null,
    status: !isFound ? 404 : !isAllowed ? 400 : method !== 'PATCH' && isIncomplete(asking, sent) ? null : success,
    shapes: ofClass(shapes, row),
    all: shapes,
    readable: shapes,
    names: new Set([...namesIn(shapes), ...[...writable, ...parts].map(({ json }) => json)]),
    twin: name !== null && other !== null ? { name, other, path, body: body.replaceAll(`"${name}"`, `"${other}"`) } : null,
  };
}

/** Whether an object that cannot be null is missing. */
function isIncomplete({ api, app }: Asking, sent: Readonly<Record<string, unknown>>): boolean {
  return modelOf(app, api.model).embedded.some(({ json, nullable }) => !nullable && !(json in sent));
}

let lastSent = 0;

function randomBody(asking: Asking, action: Action, model: string, owner: string | null): RandomBody {
  const { api, app, caller, random } = asking;
  const groups = grantedGroups(api, action, 'write', caller, owner);
  const shown = namesIn(shownTo(app, api, action, caller, owner));
  const all = settableOf(app, model);
  const writable = all.filter((property) => isIn(property, groups));
  const picked = random.is(0.7) ? random.some(writable, 0.5) : random.shuffled(all).slice(0, 1 + random.below(3));
  const sent: Record<string, unknown> = {};
  const unseen: string[] = [];
  let isAllowed = true;
  const note = (property: PropertySpec, isKnown: boolean) => {
    if (isIn(property, groups)) return;
    isAllowed = false;
    if (!isKnown) unseen.push(property.json);
  };
  for (const property of picked) {
    note(property, shown.has(property.json));
    if ('parts' in property) {
      const { nullable, parts } = property as EmbeddedSpec;
      if (nullable && random.is(0.2)) {
        sent[property.json] = null;
        continue;
      }
      const some = random.is(0.8)
        ? random.some(
            parts.filter((part) => isIn(part, groups)),
            0.6,
          )
        : random.some(parts, 0.5);
      for (const part of some) note(part, shown.has(part.json));
      sent[property.json] = Object.fromEntries(some.map((part) => [part.json, newValue(part.kind, random)]));
    } else if ('to' in property) {
      const { isVisible: areVisible, value } = newReference(asking, property as unknown as LinkSpec);
      sent[property.json] = value;
      if (!areVisible) isAllowed = false;
    } else sent[property.json] = newValue((property as unknown as { kind: ColumnKind }).kind, random);
  }
  return { sent, isAllowed, unseen };
}

function newReference({ app, data, random }: Asking, { kind, to }: LinkSpec): { value: unknown; isVisible: boolean } {
  if (kind === 'to-one' && random.is(0.2)) return { value: null, isVisible: true };
  const spec = modelOf(app, to);
  const names = classesOf(app, to).map(({ name }) => name);
  const count = kind === 'to-one' ? 1 : random.below(3);
  const rows = random.shuffled(data.filter(({ model }) => names.includes(model))).slice(0, count);
  const hasApi = app.apis.some(({ model }) => model === to);
  const references = rows.map(({ id }) => ({ id }));
  const isVisible = rows.every(({ shown }) => shown || !spec.restricted || !hasApi);
  return { value: kind === 'to-one' ? references[0] : references, isVisible };
}

function newValue(kind: ColumnKind, random: Random): unknown {
  if (random.is(0.15)) return null;
  const number = ++lastSent;
  if (kind === 'integer') return 1000 + number;
  if (kind === 'boolean') return random.is(0.5);
  return kind === 'json' ? { of: `sent ${number}` } : `sent ${number}`;
}
