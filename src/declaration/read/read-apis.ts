import type { Report } from '../report.ts';
import type { WrittenAction, WrittenApi, WrittenAppMain } from '../schema.ts';
import type { Entry } from '../shape.ts';
import { didYouMean, listed } from '../suggest.ts';
import {
  type ActionDeclaration,
  type ApiDeclaration,
  type AssociationDeclaration,
  type CountMode,
  type Exported,
  type Format,
  type HttpMethod,
  httpMethods,
  type ListDeclaration,
  type PaginationDeclaration,
  type Path,
} from '../types.ts';
import { emptyList, readActionList, readList } from './read-list.ts';
import { readRateLimit } from './read-rate-limit.ts';

/**
 * The APIs. One with something wrong in it is among them, as far as it could be read, so that what else is wrong with it is
 * told as well; `report` knows which parts those are.
 */
export function readApis(written: WrittenAppMain, report: Report): readonly ApiDeclaration[] {
  const global = readPagination(
    written.pagination,
    ['app_main', 'pagination'],
    { itemsPerPage: 50, maxItemsPerPage: 200, maxOffset: 0, count: 'exact', maxOrDepth: 2, maxOrGroups: 10 },
    report,
  );
  const rateLimit = written.server.rate_limit && readRateLimit('default', written.server.rate_limit);
  const { require_if_match: requireIfMatch } = written.server;
  const apis: ApiDeclaration[] = [];
  const takenBy = new Map<string, Path>();
  for (const entry of written.apis) {
    const name = nameOf(entry, report);
    const taken = name === undefined ? undefined : takenBy.get(name);
    if (taken)
      report.add([...entry.path, 'name'], `the name "${name}" is used twice, also by ${taken.join('.')}; names are unique`);
    else if (name !== undefined) takenBy.set(name, entry.path);
    apis.push(readApi(entry, name, { pagination: global, formats: written.formats, rateLimit, requireIfMatch }, report));
  }
  return Object.freeze(apis);
}

function nameOf({ key, path, value }: Entry<WrittenApi>, report: Report): string | undefined {
  if (value.name !== undefined || report.touches([...path, 'name'])) return value.name;
  if (typeof key === 'number') {
    report.add(path, 'the key "name" is missing: in a list every API needs one');
    return undefined;
  }
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(key)) return key;
  report.add(path, `the key "${key}" cannot be the name of the API: use letters, digits and underscores, or add "name"`, 'key');
  return undefined;
}

function readApi(
  { path, value }: Entry<WrittenApi>,
  name: string | undefined,
  global: Pick<ApiDeclaration, 'pagination' | 'formats' | 'rateLimit' | 'requireIfMatch'>,
  report: Report,
): ApiDeclaration {
  const placeholders = placeholdersOf(value.base_path, path, report);
  const pagination = readPagination(value.pagination, [...path, 'pagination'], global.pagination, report);
  const formats = Object.freeze([...(value.formats ?? global.formats)]);
  const list = readList(value, path, emptyList, report);
  const actions = (value.actions ?? []).map((action) =>
    readAction(action, placeholders, { formats, hidden: value.hidden, list }, report),
  );
  return Object.freeze({
    name: name ?? path.join('_'),
    class: value.class ?? unknownClass,
    controller: value.controller,
    basePath: value.base_path ?? '',
    baseRole: value.base_role,
    pagination,
    rateLimit:
      value.rate_limit === undefined ? global.rateLimit : value.rate_limit && readRateLimit(name ?? 'api', value.rate_limit),
    requireIfMatch: value.require_if_match ?? global.requireIfMatch,
    defaultSort: list.defaultSort,
    list,
    formats,
    description: value.description,
    actions: Object.freeze(actions),
    path: Object.freeze([...path]),
  });
}

const unknownClass: Exported = Object.freeze({ name: '', qualifiedName: '', value: null });

/** Null where the base path is wrong, so that nothing is known about them. */
function placeholdersOf(basePath: string | undefined, path: Path, report: Report): readonly string[] | null {
  if (basePath === undefined) return null;
  const names = [...basePath.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  const repeated = names.find((name, i) => names.indexOf(name) < i);
  if (repeated !== undefined)
    report.add([...path, 'base_path'], `the placeholder {${repeated}} is in "base_path" twice; choose another name`);
  return names;
}

function readPagination(
  written: {
    readonly items_per_page: number | undefined;
    readonly max_items_per_page: number | undefined;
    readonly max_offset: number | undefined;
    readonly count: 'exact' | 'estimated' | { readonly capped: number | undefined } | undefined;
    readonly max_or_depth: number | undefined;
    readonly max_or_groups: number | undefined;
  },
  path: Path,
  fallback: PaginationDeclaration,
  report: Report,
): PaginationDeclaration {
  const itemsPerPage = written.items_per_page ?? fallback.itemsPerPage;
  const maxItemsPerPage = written.max_items_per_page ?? fallback.maxItemsPerPage;
  if (itemsPerPage > maxItemsPerPage && !report.touches(path)) {
    report.add(
      [...path, 'items_per_page'],
      `"items_per_page" (${itemsPerPage}) must not be greater than "max_items_per_page" (${maxItemsPerPage})`,
    );
  }
  return Object.freeze({
    itemsPerPage,
    maxItemsPerPage,
    maxOffset: written.max_offset ?? fallback.maxOffset,
    count: countMode(written.count) ?? fallback.count,
    maxOrDepth: written.max_or_depth ?? fallback.maxOrDepth,
    maxOrGroups: written.max_or_groups ?? fallback.maxOrGroups,
  });
}

function countMode(written: Parameters<typeof readPagination>[0]['count']): CountMode | undefined {
  if (typeof written !== 'object') return written;
  // one that is missing was reported
  return written.capped === undefined ? undefined : Object.freeze({ capped: written.capped });
}

function readAction(
  { key, path, value }: Entry<WrittenAction>,
  placeholders: readonly string[] | null,
  ofApi: { readonly list: ListDeclaration; readonly formats: readonly Format[]; readonly hidden: boolean },
  report: Report,
): ActionDeclaration {
  const name = String(key);
  const kind = name === '_index' ? 'index' : name === '_entity' ? 'entity' : 'custom';
  const single = readSingle(name, kind, value['single-collection'], path, report);
  if (value.association) checkAssociation(kind, single, value, path, report);
  checkHandled(name, kind, value, path, report);
  return Object.freeze({
    name,
    kind,
    single,
    methods: readMethods(kind, value, path, report),
    roles: byMethod((method) => value.roles[method]),
    controllerAction: value.controller_action,
    segment: value.path,
    requirements: readRequirements(value.requirements, single, placeholders, report),
    repeatable: value.repeatable,
    association: readAssociation(value.association),
    list: readActionList(value, path, single, ofApi.list, report),
    formats: value.formats ? Object.freeze([...value.formats]) : ofApi.formats,
    descriptions: readDescriptions(value.description),
    hidden: value.hidden ?? ofApi.hidden,
    body: value.body,
    result: value.result,
    path: Object.freeze([...path]),
  });
}

function readSingle(
  name: string,
  kind: ActionDeclaration['kind'],
  written: string | undefined,
  path: Path,
  report: Report,
): boolean {
  const fixed = kind === 'index' ? 'collection' : kind === 'entity' ? 'single' : null;
  if (fixed !== null && written !== undefined && written !== fixed) {
    report.add([...path, 'single-collection'], `"single-collection" of ${name} is always ${fixed}; leave it out`);
  }
  return (fixed ?? written ?? 'single') === 'single';
}

function readMethods(kind: ActionDeclaration['kind'], value: WrittenAction, path: Path, report: Report): readonly HttpMethod[] {
  if (value.methods) {
    const methods = httpMethods.filter((method) => value.methods?.[method]);
    if (methods.length === 0 && !report.touches([...path, 'methods'])) {
      report.add([...path, 'methods'], 'no method is enabled; set one to true, for example "methods: { GET: true }"');
    }
    return Object.freeze(methods);
  }
  if (kind !== 'custom') return Object.freeze(['GET', 'HEAD'] as const);
  if (value.association) return Object.freeze(['POST', 'DELETE'] as const);
  // A wrong "methods" or "association" has been reported; saying more would only confuse.
  if (!report.touches([...path, 'methods']) && !report.touches([...path, 'association'])) {
    report.add(path, 'no method is enabled; a custom action needs "methods", for example "methods: { POST: true }"');
  }
  return Object.freeze([]);
}

function byMethod(textOf: (method: HttpMethod) => string | null): Readonly<Partial<Record<HttpMethod, string>>> {
  const texts: Partial<Record<HttpMethod, string>> = {};
  for (const method of httpMethods) {
    const found = textOf(method);
    if (found !== null) texts[method] = found;
  }
  return Object.freeze(texts);
}

function readDescriptions(written: WrittenAction['description']): ActionDeclaration['descriptions'] {
  return byMethod((method) => (typeof written === 'string' ? written : (written?.[method] ?? null)));
}

function readRequirements(
  written: WrittenAction['requirements'],
  single: boolean,
  placeholders: readonly string[] | null,
  report: Report,
): Readonly<Record<string, string>> {
  const requirements: Record<string, string> = Object.create(null);
  for (const entry of written) {
    if (typeof entry === 'string') continue;
    const name = String(entry.key);
    requirements[name] = entry.value;
    const allowed = [...(single ? ['id'] : []), ...(placeholders ?? [])];
    if (placeholders && !allowed.includes(name)) {
      const known = allowed.length > 0 ? `allowed: ${listed(allowed)}` : 'its path has no placeholders';
      report.add(entry.path, `the path of this action has no placeholder "${name}";${didYouMean(name, allowed)} ${known}`, 'key');
    }
    const problem = regularExpressionProblem(entry.value);
    if (problem) report.add(entry.path, `the requirement of "${name}" is not a regular expression: ${problem}`);
  }
  return Object.freeze(requirements);
}

function regularExpressionProblem(source: string): string | null {
  if (source === '') return 'it is empty';
  try {
    new RegExp(`^(?:${source})$`);
    // What only becomes valid by the brackets around it, such as `a)|(b`, is refused as well.
    new RegExp(source);
    return null;
  } catch (error) {
    return (error as Error).message.replace(/^Invalid regular expression: \/[\s\S]*\/\w*: /, '').toLowerCase();
  }
}

function checkAssociation(
  kind: ActionDeclaration['kind'],
  single: boolean,
  value: WrittenAction,
  path: Path,
  report: Report,
): void {
  const at = [...path, 'association'];
  if (kind !== 'custom')
    report.add(at, '"association" belongs to a custom action, not to a default one; choose another action name', 'key');
  else if (!single) report.add(at, '"association" needs the id of an entity: leave out "single-collection: collection"', 'key');
  if (value.controller_action !== null) {
    report.add(at, '"association" and "controller_action" exclude each other; leave one of them out', 'key');
  }
}

/** What is supplied is known; only what a handler takes and gives is worth a word. */
function checkHandled(
  name: string,
  kind: ActionDeclaration['kind'],
  { association, body, controller_action: handler, methods, result }: WrittenAction,
  path: Path,
  report: Report,
): void {
  const isSupplied = kind !== 'custom' && handler === null;
  if (result !== null && isSupplied)
    report.add(
      [...path, 'result'],
      `what ${name} gives is known; "result" belongs to an action with a handler of your own`,
      'key',
    );
  if (body === null) return;
  const at = [...path, 'body'];
  if (isSupplied || association)
    report.add(
      at,
      `what ${association ? 'an association' : name} takes is known; "body" belongs to an action with a handler of your own`,
      'key',
    );
  else if (methods && !methods.POST && !methods.PUT && !methods.PATCH && !methods.DELETE)
    report.add(at, '"body" needs a method that has one: POST, PUT, PATCH or DELETE', 'key');
}

function readAssociation(written: WrittenAction['association']): AssociationDeclaration | null {
  if (!written) return null;
  return Object.freeze({ property: written.property ?? '', types: Object.freeze([...written.types]) });
}
