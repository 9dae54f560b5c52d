import type { Report } from '../declaration/report.ts';
import type { ApiDeclaration, HttpMethod } from '../declaration/types.ts';
import { isHidden, type RouteRecord } from '../route/record.ts';
import { pascal, pluralOf, wordsOf } from './english.ts';

/** The id of a method of a route in a format. */
export type OperationIds = (record: RouteRecord, method: HttpMethod, format: string) => string;

interface Named {
  readonly record: RouteRecord;
  readonly method: HttpMethod;
  readonly format: string;
  readonly id: string;
}

/** The subject of an API, in the singular and the plural: `third party`, `third parties`. */
export function nounsOf({ class: model, name }: Pick<ApiDeclaration, 'class' | 'name'>): { one: string; many: string } {
  const words = wordsOf(name);
  const ofModel = wordsOf(model.name);
  // an API can be named in the plural, such as `notes` of the model Note
  const isPlural = words.endsWith(pluralOf(ofModel));
  const one = isPlural ? `${words.slice(0, -pluralOf(ofModel).length)}${ofModel}` : words;
  return { one, many: pluralOf(one) };
}

/**
 * The ids of all operations, each of them unique: `listPersons`, `getPerson`, `addCourseTags`, `publishCourse`. Of several operations
 * with the same name, a declared id goes first, then that of a default action; the others get a number.
 */
export function operationIds(records: readonly RouteRecord[]): OperationIds {
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  const ranks = namedOf(records).map((named) => ({ named, rank: rankOf(named) }));
  for (const { named } of ranks.sort((a, b) => a.rank - b.rank)) {
    let id = named.id;
    for (let number = 2; taken.has(id); number++) id = `${named.id}${number}`;
    taken.add(id);
    ids.set(keyOf(named), id);
  }
  return (record, method, format) => ids.get(keyOf({ record, method, format })) as string;
}

/** Checks `operation_id`: it must fit the methods of its action, and be unique. */
export function checkOperationIds(records: readonly RouteRecord[], report: Report): void {
  const known = Map.groupBy(namedOf(records), ({ id }) => id);
  for (const { action, methods } of records) {
    if (!action) continue;
    const at = [...action.path, 'operation_id'];
    const { all = null, ...byMethod } = action.operationIds;
    const own = methods.filter((method) => method !== 'HEAD');
    if (all !== null && own.length > 1)
      report.add(
        at,
        `the action has several methods; write an id for each: { ${own.map((method) => `${method}: …`).join(', ')} }`,
      );
    for (const method of Object.keys(byMethod) as HttpMethod[]) {
      if (!methods.includes(method))
        report.add([...at, method], `${method} is not enabled for this action; enabled: ${methods.join(', ')}`, 'key');
    }
  }
  for (const [id, uses] of known) {
    const declared = uses.find(({ record, method }) => declaredId(record, method) !== undefined);
    const other = uses.find((named) => named !== declared);
    if (!declared || !other || report.touches([...(declared.record.action?.path ?? []), 'operation_id'])) continue;
    const { action, name, path } = other.record;
    report.add(
      [...(declared.record.action?.path ?? []), 'operation_id'],
      `the operation id "${id}" is also that of ${other.method} ${action ? path : name}; operation ids must be unique`,
    );
  }
}

function namedOf(records: readonly RouteRecord[]): Named[] {
  return records
    .filter((record) => !isHidden(record))
    .flatMap((record) =>
      record.methods.flatMap((method) => {
        const id = declaredId(record, method) ?? idOf(record, method);
        return record.formats.map((format) => ({
          record,
          method,
          format,
          id: format === 'json' ? id : `${id}As${pascal(format)}`,
        }));
      }),
    );
}

function keyOf({ format, method, record }: Omit<Named, 'id'>): string {
  return `${record.name} ${method} ${format}`;
}

function rankOf({ method, record }: Named): number {
  if (declaredId(record, method) !== undefined) return 0;
  return record.action && record.action.kind !== 'custom' ? 1 : 2;
}

function declaredId({ action }: RouteRecord, method: HttpMethod): string | undefined {
  const { all, ...byMethod } = action?.operationIds ?? {};
  if (method !== 'HEAD') return byMethod[method] ?? all;
  const got = byMethod.GET ?? all;
  return byMethod.HEAD ?? (got === undefined ? undefined : `head${pascal(got)}`);
}

const entityVerbs: Readonly<Partial<Record<HttpMethod, string>>> = {
  GET: 'get',
  PATCH: 'update',
  PUT: 'replace',
  DELETE: 'delete',
};

function idOf({ action, api, methods, name, single }: RouteRecord, method: HttpMethod): string {
  const several = methods.filter((one) => one !== 'HEAD').length > 1;
  const verb = method.toLowerCase();
  if (!api || !action) return several || method === 'HEAD' ? `${verb}${pascal(name)}` : lower(pascal(name));
  const { many, one } = nounsOf(api);
  if (action.kind === 'index') {
    if (method === 'GET') return `list${pascal(many)}`;
    if (action.bulk && method !== 'POST') return `${entityVerbs[method] ?? verb}${pascal(many)}`;
    return method === 'POST' ? `create${pascal(one)}` : `${verb}${pascal(many)}`;
  }
  if (action.kind === 'aggregate') return method === 'GET' ? `aggregate${pascal(many)}` : `${verb}${pascal(one)}Aggregate`;
  if (action.kind === 'entity') return `${entityVerbs[method] ?? verb}${pascal(one)}`;
  if (action.association)
    return `${method === 'DELETE' ? 'remove' : 'add'}${pascal(one)}${pascal(wordsOf(action.association.property))}`;
  const noun = pascal(single ? one : many);
  const own = pascal(wordsOf(action.name));
  return several || method === 'HEAD' ? `${verb}${noun}${own}` : `${lower(own)}${noun}`;
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
