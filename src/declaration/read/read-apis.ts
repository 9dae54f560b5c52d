import { camelCased } from '../camel-case.ts';
import type { Report } from '../report.ts';
import type { WrittenAction, WrittenApi, WrittenAppMain } from '../schema/schema.ts';
import type { Entry } from '../shape.ts';
import { didYouMean, listed } from '../suggest.ts';
import type {
  ActionDeclaration,
  ApiDeclaration,
  BoundGroup,
  GroupsDeclaration,
  ListDeclaration,
  PaginationDeclaration,
  RateLimitDeclaration,
} from '../types.ts';
import {
  defaultActions,
  type Exported,
  type Format,
  formatsMatching,
  type HttpMethod,
  httpMethods,
  type Path,
} from '../vocabulary.ts';
import { bulkMethodsOf, readBulk, readNested, withBulkRoles } from './read-bulk.ts';
import { defaultGroups, readBoundGroups, readGroups } from './read-groups.ts';
import { emptyList, readActionList, readList } from './read-list.ts';
import { readParameters } from './read-parameters.ts';

/**
 * The APIs. An API with errors is included as far as it could be read, so that later checks find its other errors. `report` knows
 * which parts are wrong.
 */
export function readApis(written: WrittenAppMain, report: Report, prefix = ''): readonly ApiDeclaration[] {
  const { pagination, server, formats } = written;
  const global = {
    pagination: readPagination(pagination, ['app_main', 'pagination'], { ...camelCased(pagination), count: 'exact' }, report),
    formats,
    rateLimit: server.rate_limit && readRateLimit('default', server.rate_limit),
    requireIfMatch: server.require_if_match,
    prefix,
    bound: readBoundGroups(written.groups),
  };
  const takenBy = new Map<string, Path>();
  return written.apis.map((entry) => {
    const name = nameOf(entry, report);
    const taken = name === undefined ? undefined : takenBy.get(name);
    if (taken)
      report.add([...entry.path, 'name'], `the name "${name}" is already used by ${taken.join('.')}; names must be unique`);
    else if (name !== undefined) takenBy.set(name, entry.path);
    return readApi(entry, name, global, report);
  });
}

function nameOf({ key, path, value }: Entry<WrittenApi>, report: Report): string | undefined {
  if (value.name !== undefined || report.touches([...path, 'name'])) return value.name;
  if (typeof key === 'number') {
    report.add(path, 'the key "name" is missing: every API in a list needs one');
    return undefined;
  }
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(key)) return key;
  report.add(path, `the key "${key}" cannot be the name of the API: use letters, digits and underscores, or add "name"`, 'key');
  return undefined;
}

function readApi(
  { path, value }: Entry<WrittenApi>,
  name: string | undefined,
  global: Pick<ApiDeclaration, 'pagination' | 'formats' | 'rateLimit' | 'requireIfMatch'> & {
    readonly prefix: string;
    readonly bound: readonly BoundGroup[];
  },
  report: Report,
): ApiDeclaration {
  const { rate_limit: rateLimit } = value;
  const placeholders = placeholdersOf(value.base_path, global.prefix, path, report);
  const pagination = readPagination(value.pagination, [...path, 'pagination'], global.pagination, report);
  const formats = value.formats ?? global.formats;
  const list = readList(value, path, emptyList, report);
  const { bound } = global;
  const groups = readGroups(value.groups, [...path, 'groups'], defaultGroups(bound), bound, report);
  const actions = (value.actions ?? []).map((action) =>
    readAction(action, placeholders, { formats, hidden: value.hidden, list, groups, bound }, report),
  );
  return {
    name: name ?? path.join('_'),
    class: value.class ?? unknownClass,
    controller: value.controller,
    basePath: global.prefix + (value.base_path ?? ''),
    baseRole: value.base_role,
    pagination,
    rateLimit: rateLimit === undefined ? global.rateLimit : rateLimit && readRateLimit(name ?? 'api', rateLimit),
    requireIfMatch: value.require_if_match ?? global.requireIfMatch,
    nested: readNested(value.nested),
    defaultSort: list.defaultSort,
    groups,
    list,
    formats,
    description: value.description,
    actions: withBulkRoles(actions, report),
    path,
  };
}

const unknownClass: Exported = { name: '', qualifiedName: '', value: null };

/** Null if the base path is wrong. */
function placeholdersOf(basePath: string | undefined, prefix: string, path: Path, report: Report): readonly string[] | null {
  if (basePath === undefined) return null;
  const names = [...(prefix + basePath).matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  const repeated = names.find((name, i) => names.indexOf(name) < i);
  if (repeated !== undefined)
    report.add(
      [...path, 'base_path'],
      `the placeholder {${repeated}} is in ${prefix === '' ? '"base_path"' : `the prefix "${prefix}" and "base_path"`} twice; choose another name`,
    );
  return names;
}

/** A wrong value counts as absent. */
function readPagination(
  { count, ...limits }: WrittenApi['pagination'],
  path: Path,
  fallback: PaginationDeclaration,
  report: Report,
): PaginationDeclaration {
  const written = Object.entries(camelCased(limits)).filter(([, limit]) => limit !== undefined);
  const pagination = { ...fallback, ...Object.fromEntries(written), count: countMode(count) ?? fallback.count };
  const { itemsPerPage, maxItemsPerPage } = pagination;
  if (itemsPerPage > maxItemsPerPage && !report.touches(path)) {
    report.add(
      [...path, 'items_per_page'],
      `"items_per_page" (${itemsPerPage}) must not be greater than "max_items_per_page" (${maxItemsPerPage})`,
    );
  }
  return pagination;
}

function countMode(written: WrittenApi['pagination']['count']): PaginationDeclaration['count'] | undefined {
  if (typeof written !== 'object') return written;
  return written.capped === undefined ? undefined : { capped: written.capped };
}

/** A rate limit with its name in headers; null if its number is missing, which has been reported. */
export function readRateLimit(
  name: string,
  { limit, window, by }: NonNullable<WrittenApi['rate_limit']>,
): RateLimitDeclaration | null {
  return limit === undefined ? null : { name, limit, window, by };
}

type Kind = ActionDeclaration['kind'];

function readAction(
  { key, path, value }: Entry<WrittenAction>,
  placeholders: readonly string[] | null,
  ofApi: {
    readonly list: ListDeclaration;
    readonly formats: readonly Format[];
    readonly hidden: boolean;
    readonly groups: GroupsDeclaration;
    readonly bound: readonly BoundGroup[];
  },
  report: Report,
): ActionDeclaration {
  const name = String(key);
  const { association, description, operation_id: id } = value;
  const kind = name === '_index' ? 'index' : name === '_entity' ? 'entity' : 'custom';
  const single = readSingle(name, kind, value['single-collection'], path, report);
  if (association) checkAssociation(kind, single, value, path, report);
  checkHandled(name, kind, value, path, report);
  const requirements = readRequirements(value.requirements, single, placeholders, report);
  const own = readMethods(name, kind, value, path, report);
  const bulk = readBulk(value, own, kind, path, report);
  return {
    name,
    kind,
    single,
    methods: bulkMethodsOf(own, bulk),
    roles: readRoles(value.roles),
    controllerAction: value.controller_action,
    segment: value.path,
    requirements,
    repeatable: value.repeatable,
    validationGroups: value.validation_groups,
    bulk,
    groups: readGroups(value.groups, [...path, 'groups'], ofApi.groups, ofApi.bound, report),
    association: association && { property: association.property ?? '', types: association.types },
    parameters: readParameters(value.parameters),
    list: readActionList(value, path, { isIndex: kind === 'index', single }, ofApi.list, report),
    formats: requiredFormats(value.formats ?? ofApi.formats, requirements, path, report),
    descriptions: byMethod((method) => (typeof description === 'string' ? description : (description?.[method] ?? null))),
    operationIds: typeof id === 'string' ? { all: id } : byMethod((method) => id?.[method] ?? null),
    hidden: value.hidden ?? ofApi.hidden,
    body: value.body,
    result: value.result,
    path,
  };
}

function readSingle(name: string, kind: Kind, written: string | undefined, path: Path, report: Report): boolean {
  const fixed = kind === 'index' ? 'collection' : kind === 'entity' ? 'single' : null;
  if (fixed !== null && written !== undefined && written !== fixed) {
    report.add([...path, 'single-collection'], `"single-collection" of ${name} is always ${fixed}; leave it out`);
  }
  return (fixed ?? written ?? 'single') === 'single';
}

function readMethods(name: string, kind: Kind, value: WrittenAction, path: Path, report: Report): readonly HttpMethod[] {
  if (value.methods) {
    const methods = httpMethods.filter((method) => value.methods?.[method]);
    if (methods.length === 0 && !report.touches([...path, 'methods'])) {
      report.add([...path, 'methods'], 'no method is enabled; set one to true, for example "methods: { GET: true }"');
    }
    return methods;
  }
  if (kind !== 'custom') return ['GET', 'HEAD'];
  if (value.association) return ['POST', 'DELETE'];
  // A wrong "methods" or "association" has been reported; a second error would only confuse.
  if (!report.touches([...path, 'methods']) && !report.touches([...path, 'association'])) {
    const meant = didYouMean(name, defaultActions);
    report.add(path, `no method is enabled;${meant} a custom action needs "methods", for example "methods: { POST: true }"`);
  }
  return [];
}

/** HEAD has the role of GET, unless null was written for HEAD. */
function readRoles(written: WrittenAction['roles']): ActionDeclaration['roles'] {
  const own = byMethod((method) => written[method] ?? null);
  return own.GET !== undefined && written.HEAD === null ? { ...own, HEAD: null } : own;
}

function byMethod(textOf: (method: HttpMethod) => string | null): Readonly<Partial<Record<HttpMethod, string>>> {
  return Object.fromEntries(httpMethods.map((method) => [method, textOf(method)]).filter(([, text]) => text !== null));
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
    const allowed = [...(single ? ['id'] : []), ...(placeholders ?? []), '_format'];
    if (placeholders && !allowed.includes(name)) {
      const hint = `${didYouMean(name, allowed)} allowed: ${listed(allowed)}`;
      report.add(entry.path, `the path of this action has no placeholder "${name}";${hint}`, 'key');
    }
    const problem = regularExpressionProblem(entry.value);
    if (problem) report.add(entry.path, `the requirement of "${name}" is not a regular expression: ${problem}`);
  }
  return requirements;
}

/** The formats that match the requirement of `_format`, if there is one. */
function requiredFormats(
  formats: readonly Format[],
  { _format: requirement }: Readonly<Record<string, string>>,
  path: Path,
  report: Report,
): readonly Format[] {
  const at = [...path, 'requirements', '_format'];
  if (requirement === undefined || report.touches(at)) return formats;
  const matching = formatsMatching(formats, requirement);
  if (matching.length > 0) return matching;
  report.add(
    at,
    `no format of this action matches "${requirement}"; its formats: ${listed(formats)}. Others are declared under "formats"`,
  );
  return formats;
}

function regularExpressionProblem(source: string): string | null {
  if (source === '') return 'it is empty';
  try {
    new RegExp(`^(?:${source})$`);
    // Rejects expressions that only the brackets around them make valid, such as `a)|(b`.
    new RegExp(source);
    return null;
  } catch (error) {
    return (error as Error).message.replace(/^Invalid regular expression: \/[\s\S]*\/\w*: /, '').toLowerCase();
  }
}

function checkAssociation(kind: Kind, single: boolean, value: WrittenAction, path: Path, report: Report): void {
  const refuse = (message: string) => report.add([...path, 'association'], `"association" ${message}`, 'key');
  if (kind !== 'custom') refuse('is allowed for custom actions only; choose another action name');
  else if (!single) refuse('needs the id of an entity: remove "single-collection: collection"');
  if (value.controller_action !== null) refuse('and "controller_action" exclude each other; remove one of them');
}

/** Declarest knows the bodies and results of its own handlers; only those of the application's handlers can be declared. */
function checkHandled(
  name: string,
  kind: Kind,
  { association, body, controller_action: handler, methods, result }: WrittenAction,
  path: Path,
  report: Report,
): void {
  const isSupplied = kind !== 'custom' && handler === null;
  const refuse = (key: 'body' | 'result', message: string) => report.add([...path, key], message, 'key');
  const elsewhere = 'is allowed for actions with a handler of your own only';
  if (result !== null && isSupplied) refuse('result', `Declarest knows the result of ${name}; "result" ${elsewhere}`);
  if (body === null) return;
  if (isSupplied || association)
    refuse('body', `Declarest knows the body of ${association ? 'an association' : name}; "body" ${elsewhere}`);
  else if (methods && !methods.POST && !methods.PUT && !methods.PATCH && !methods.DELETE)
    refuse('body', '"body" needs a method with a request body: POST, PUT, PATCH or DELETE');
}
