import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DatabaseKind, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { partOf } from '../support/random.ts';
import {
  type CountedApplication,
  forms,
  ids,
  type NestedApplication,
  shapedForms,
  startCounted,
  startNested,
  tableName,
  type Variant,
  type VariantName,
  variants,
} from './counted-app.ts';

/** A request, its status, the steps that run exactly once, and those that do not run. Any other step runs at most once. */
interface Case {
  readonly title: string;
  readonly method: string;
  /** After the base path of the API. */
  readonly path: string;
  readonly status: number;
  readonly json?: unknown;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly once?: readonly string[];
  readonly never?: readonly string[];
  /** Sends the tag of the row as `If-Match` (or `If-None-Match`), after another change if `stale`. */
  readonly tag?: 'current' | 'stale' | 'if-none-match';
  /** The request changes nothing, although its status is below 400. */
  readonly unchanged?: boolean;
  /** What failed is not kept under its key, and runs again. */
  readonly unkept?: true;
  /** The variants in question; all by default. */
  readonly of?: (variant: Variant) => boolean;
  /** The forms of restriction in question; all by default. */
  readonly forms?: (form: string) => boolean;
}

const hides = { forms: (form: string) => form !== 'none', of: (variant: Variant) => variant.restricts };
const hidesOthers = { forms: (form: string) => form !== 'none' };
const embeds = { of: (variant: Variant) => variant.embeds };
const isVersioned = { of: (variant: Variant) => variant.version };
const hasRules = { of: (variant: Variant) => variant.rules };
const hasDenormalizer = { of: (variant: Variant) => variant.denormalizer };

const embedded = ['tag.customizeQuery', 'category.customizeQuery'];
const loading = ['customizeQuery', 'afterFetch', 'voter SEE', 'afterAccessCheck'];
const listing = [...loading, ...embedded, 'beforeSerialize'];
const fetching = [...loading, ...embedded, 'beforeSerialize'];
const validating = ['beforeValidation', 'controller.validate', 'model.validate', 'constraint'];
const writing = [...validating, 'afterValidation', 'afterCommit', 'beforeSerialize'];
const creating = ['voter SEE', 'voter CHANGE', 'afterAccessCheck', ...writing];
const changing = [...loading, 'voter CHANGE', ...writing, ...embedded];
const removing = [...loading, 'voter CHANGE', 'afterCommit'];
const linking = [...loading, 'voter CHANGE', ...writing, 'tag.customizeQuery'];
const handling = [...loading, 'handler', 'beforeSerialize'];
const afterAccess = ['afterAccessCheck', ...writing, 'addTag', 'removeTag', 'handler', 'denormalize category'];
const afterLoading = ['voter SEE', 'voter CHANGE', 'afterFetch', ...afterAccess];
const afterDeserialization = [...writing, 'addTag', 'removeTag'];
const afterValidation = ['afterValidation', 'afterCommit', 'beforeSerialize'];

const item = `/${ids.item}.json`;
const hidden = `/${ids.hidden}.json`;
const missing = `/${ids.missing}.json`;
const tooLong = 'x'.repeat(41);
const fresh = { name: 'new', code: 'new' };
const signedIn = { 'x-user': 'anna' };
const deny = (role: string) => ({ 'x-deny': role, ...signedIn });
const one = (action: string, id = ids.item) => `/${id}/${action}.json`;
const tag = (id: number) => ({ id });

/** Requests that both the declared action and a handler with `addRemove` understand. */
const associations: Case[] = ['tags', 'label'].flatMap((action): Case[] => {
  const path = one(action);
  const add = { method: 'POST', path };
  const remove = { method: 'DELETE', path };
  const many = one(action, ids.other);
  const by = action === 'tags' ? 'declared action' : 'addRemove in a handler';
  // biome-ignore format: one case a line
  const cases: Case[] = [
    { title: 'add of a new item', ...add, status: 200, json: tag(1003), once: [...linking, 'addTag'] },
    { title: 'add of a present item', ...add, status: 200, json: tag(1001), once: loading, never: ['addTag'], unchanged: true },
    { title: 'add of a missing item', ...add, status: 400, json: tag(99), once: loading, never: afterDeserialization },
    { title: 'add of a hidden item', ...add, status: 400, json: tag(1004), once: loading, never: afterDeserialization, ...hidesOthers },
    { title: 'add without an item', ...add, status: 400, json: {}, once: loading, never: afterDeserialization },
    { title: 'add that breaks a rule', ...add, path: many, status: 422, json: tag(1005), once: [...loading, 'addTag', 'model.validate'], never: afterValidation, ...hasRules },
    { title: 'add that a voter denies', ...add, status: 403, json: tag(1003), headers: deny('CHANGE'), once: ['customizeQuery', 'voter CHANGE'], never: afterAccess },
    { title: 'add to a hidden row', ...add, path: one(action, ids.hidden), status: 404, json: tag(1003), once: ['customizeQuery'], never: afterLoading, ...hides },
    { title: 'add with a current tag', ...add, status: 200, json: tag(1003), tag: 'current', once: [...linking, 'addTag'], ...isVersioned },
    { title: 'add of a present item with a current tag', ...add, status: 200, json: tag(1001), tag: 'current', unchanged: true, never: ['addTag'], ...isVersioned },
    { title: 'add with a stale tag', ...add, status: 412, json: tag(1003), tag: 'stale', once: loading, never: afterDeserialization, ...isVersioned },
    { title: 'add through a denormalizer', ...add, status: 200, json: tag(1003), once: [...linking, 'denormalize tag 1003'], ...hasDenormalizer },
    { title: 'remove of a linked item', ...remove, status: 200, json: tag(1002), once: [...linking, 'removeTag'] },
    { title: 'remove of an item that is not linked', ...remove, status: 200, json: tag(1003), once: loading, never: ['removeTag'], unchanged: true },
    { title: 'remove of a missing item', ...remove, status: 400, json: tag(99), once: loading, never: afterDeserialization },
    { title: 'remove that a voter denies', ...remove, status: 403, json: tag(1002), headers: deny('CHANGE'), once: ['customizeQuery', 'voter CHANGE'], never: afterAccess },
    { title: 'remove from a hidden row', ...remove, path: one(action, ids.hidden), status: 404, json: tag(1002), once: ['customizeQuery'], never: afterLoading, ...hides },
    { title: 'remove with a stale tag', ...remove, status: 412, json: tag(1002), tag: 'stale', once: loading, never: afterDeserialization, ...isVersioned },
  ];
  // a handler is called before the request is refused
  const steps = (list: readonly string[] | undefined) =>
    action === 'tags' ? list : list?.filter((step) => step !== 'beforeSerialize');
  return cases.map((one) => ({ ...one, title: `${one.title} (${by})`, ...(one.never && { never: steps(one.never)! }) }));
});

// biome-ignore format: one case a line
const cases: Case[] = [
  { title: 'list', method: 'GET', path: '.json', status: 200, once: listing },
  { title: 'HEAD of a list', method: 'HEAD', path: '.json', status: 200, once: [...loading, 'beforeSerialize'] },
  { title: 'list as XML', method: 'GET', path: '.xml', status: 200, once: listing },
  { title: 'filtered, sorted list with chosen fields', method: 'GET', path: '.json?name[starts]=f&sort=-name&fields=id,name', status: 200, once: loading },
  { title: 'list filtered by an embedded row', method: 'GET', path: '.json?category.name=north', status: 200, once: listing, ...embeds },
  { title: 'list filtered by two associations', method: 'GET', path: '.json?category.name[ne]=x&tags.name=one', status: 200, once: listing, ...embeds },
  { title: 'searched list', method: 'GET', path: '.json?q=first', status: 200, once: listing },
  { title: 'second page', method: 'GET', path: '.json?page=2&items_per_page=1', status: 200, once: listing },
  { title: 'page past the end', method: 'GET', path: '.json?page=9', status: 200, once: loading },
  { title: 'list with an unknown parameter', method: 'GET', path: '.json?nope=1', status: 400, once: ['voter SEE'], never: ['afterFetch'] },
  { title: 'list that a voter denies', method: 'GET', path: '.json', status: 403, headers: deny('SEE'), once: ['voter SEE'], never: ['customizeQuery', 'afterAccessCheck'] },
  { title: 'list that a voter denies to an anonymous caller', method: 'GET', path: '.json', status: 401, headers: { 'x-deny': 'SEE' }, once: ['voter SEE'], never: ['customizeQuery'] },
  { title: 'NDJSON export', method: 'GET', path: '.ndjson', status: 200, once: listing },
  { title: 'CSV export', method: 'GET', path: '.csv', status: 200, once: listing },
  { title: 'filtered CSV export with chosen fields', method: 'GET', path: '.csv?tags.name=one&sort=name&fields=id,category.name', status: 200, once: ['customizeQuery', 'voter SEE', 'afterAccessCheck', 'category.customizeQuery'], ...embeds },
  { title: 'HEAD of an export', method: 'HEAD', path: '.csv', status: 200, once: ['voter SEE', 'afterAccessCheck'] },
  { title: 'export that a voter denies', method: 'GET', path: '.csv', status: 403, headers: deny('SEE'), once: ['voter SEE'], never: ['customizeQuery'] },

  { title: 'fetch', method: 'GET', path: item, status: 200, once: fetching },
  { title: 'HEAD', method: 'HEAD', path: item, status: 200, once: loading },
  { title: 'fetch of an unchanged row', method: 'GET', path: item, status: 304, tag: 'if-none-match', once: fetching },
  { title: 'fetch of a missing row', method: 'GET', path: missing, status: 404, once: ['customizeQuery'], never: afterLoading },
  { title: 'fetch of a hidden row', method: 'GET', path: hidden, status: 404, once: ['customizeQuery'], never: afterLoading, ...hides },
  { title: 'fetch with an unknown parameter', method: 'GET', path: `${item}?nope=1`, status: 400, once: loading },
  { title: 'fetch that a voter denies', method: 'GET', path: item, status: 403, headers: deny('SEE'), once: ['customizeQuery', 'voter SEE'], never: ['afterAccessCheck', 'beforeSerialize'] },
  { title: 'fetch that a voter denies to an anonymous caller', method: 'GET', path: item, status: 401, headers: { 'x-deny': 'SEE' }, once: ['voter SEE'], never: ['afterAccessCheck'] },

  { title: 'create', method: 'POST', path: '.json', status: 201, json: fresh, once: creating },
  { title: 'create with references', method: 'POST', path: '.json', status: 201, json: { ...fresh, category: { id: 1001 }, tags: [{ id: 1001 }, { id: 1003 }] }, once: [...creating, ...embedded], ...embeds },
  { title: 'create through denormalizers', method: 'POST', path: '.json', status: 201, json: { ...fresh, category: { id: 1001 }, tags: [{ id: 1001 }, { id: 1003 }] }, once: ['denormalize category', 'denormalize tag 1001', 'denormalize tag 1003'], ...hasDenormalizer },
  { title: 'create with an embedded object', method: 'POST', path: '.json', status: 201, json: { ...fresh, place: { shelf: 1, row: 'a' } }, once: creating },
  { title: 'create with an incomplete embedded object', method: 'POST', path: '.json', status: 422, json: { ...fresh, place: { row: 'a' } }, once: ['voter SEE', 'voter CHANGE'], never: afterValidation },
  { title: 'create with a body that is not JSON', method: 'POST', path: '.json', status: 400, body: '{', never: [...writing, 'customizeQuery'] },
  { title: 'create with an unknown field', method: 'POST', path: '.json', status: 400, json: { ...fresh, nope: 1 }, once: ['voter CHANGE', 'afterAccessCheck'], never: writing },
  { title: 'create with a missing reference', method: 'POST', path: '.json', status: 400, json: { ...fresh, category: { id: 99 } }, once: ['voter CHANGE', 'afterAccessCheck'], never: writing, ...embeds },
  { title: 'create with a hidden reference', method: 'POST', path: '.json', status: 400, json: { ...fresh, category: { id: 1002 } }, once: ['voter CHANGE', 'category.customizeQuery'], never: writing, ...hidesOthers, ...embeds },
  { title: 'create with a taken code', method: 'POST', path: '.json', status: 409, json: { ...fresh, code: 'a-second' }, once: ['voter SEE', 'voter CHANGE', ...validating, 'afterValidation'], never: ['afterCommit', 'beforeSerialize'] },
  { title: 'create with a value that is too long', method: 'POST', path: '.json', status: 422, json: { ...fresh, name: tooLong }, once: ['voter SEE', 'voter CHANGE'], never: afterValidation },
  { title: 'create that breaks a rule', method: 'POST', path: '.json', status: 422, json: { ...fresh, name: 'bad' }, once: ['voter CHANGE', ...validating], never: afterValidation, ...hasRules },
  { title: 'create that a voter denies', method: 'POST', path: '.json', status: 403, json: fresh, headers: deny('CHANGE'), once: ['voter SEE', 'voter CHANGE'], never: [...afterAccess, 'customizeQuery'] },

  ...(['PATCH', 'PUT'] as const).flatMap((method): Case[] => {
    // PUT sends every field that has no default
    const whole =
      method === 'PUT' ? { name: 'changed', code: 'a-first', category: { id: 1001 }, tags: [{ id: 1001 }, { id: 1002 }] } : {};
    const json = { ...whole, name: 'changed' };
    return [
      { title: method, method, path: item, status: 200, json, once: changing },
      { title: `${method} of JSON`, method, path: item, status: 200, json: { ...whole, data: { a: 1 } }, once: changing },
      { title: `${method} of an embedded object`, method, path: item, status: 200, json: { ...json, place: { shelf: 2 } }, once: changing },
      { title: `${method} of references`, method, path: item, status: 200, json: { ...json, category: { id: 1003 }, tags: [{ id: 1001 }, { id: 1003 }] }, once: changing, ...embeds },
      { title: `${method} through denormalizers`, method, path: item, status: 200, json: { ...json, category: { id: 1003 }, tags: [{ id: 1001 }, { id: 1003 }] }, once: ['denormalize category', 'denormalize tag 1001', 'denormalize tag 1003'], ...hasDenormalizer },
      { title: `${method} with a body that is not JSON`, method, path: item, status: 400, body: '{', never: writing },
      { title: `${method} with an unknown field`, method, path: item, status: 400, json: { ...json, nope: 1 }, once: [...loading, 'voter CHANGE'], never: writing },
      { title: `${method} with a missing reference`, method, path: item, status: 400, json: { ...json, category: { id: 99 } }, once: [...loading, 'voter CHANGE'], never: writing, ...embeds },
      { title: `${method} with a hidden reference`, method, path: item, status: 400, json: { ...json, category: { id: 1002 } }, once: [...loading, 'voter CHANGE', 'category.customizeQuery'], never: writing, ...hidesOthers, ...embeds },
      { title: `${method} with a missing reference in a list`, method, path: item, status: 400, json: { ...json, tags: [{ id: 1001 }, { id: 99 }] }, once: [...loading, 'voter CHANGE'], never: writing, ...embeds },
      { title: `${method} with a taken code`, method, path: item, status: 409, json: { ...json, code: 'a-second' }, once: [...loading, 'voter CHANGE', ...validating, 'afterValidation'], never: ['afterCommit', 'beforeSerialize'] },
      { title: `${method} with a value that is too long`, method, path: item, status: 422, json: { ...json, name: tooLong }, once: [...loading, 'voter CHANGE'], never: afterValidation },
      { title: `${method} that breaks a rule`, method, path: item, status: 422, json: { ...json, name: 'bad' }, once: [...loading, 'voter CHANGE', ...validating], never: afterValidation, ...hasRules },
      { title: `${method} of a missing row`, method, path: missing, status: 404, json, once: ['customizeQuery'], never: afterLoading },
      { title: `${method} of a hidden row`, method, path: hidden, status: 404, json, once: ['customizeQuery'], never: afterLoading, ...hides },
      { title: `${method} that a voter denies`, method, path: item, status: 403, json, headers: deny('CHANGE'), once: ['customizeQuery', 'voter SEE', 'voter CHANGE'], never: afterAccess },
      { title: `${method} that a voter denies to an anonymous caller`, method, path: item, status: 401, json, headers: { 'x-deny': 'CHANGE' }, once: ['customizeQuery', 'voter SEE', 'voter CHANGE'], never: afterAccess },
      { title: `${method} with a current tag`, method, path: item, status: 200, json, tag: 'current', once: changing, ...isVersioned },
      { title: `${method} with a stale tag`, method, path: item, status: 412, json, tag: 'stale', once: loading, never: writing, ...isVersioned },
    ];
  }),
  { title: 'PATCH without fields', method: 'PATCH', path: item, status: 200, json: {}, once: [...loading, 'voter CHANGE'], unchanged: true },
  { title: 'PATCH that hides the row from the caller', method: 'PATCH', path: item, status: 200, json: { open: false, tags: [], category: null }, once: [...loading, 'voter CHANGE'] },

  { title: 'DELETE', method: 'DELETE', path: item, status: 204, once: removing },
  { title: 'DELETE of a missing row', method: 'DELETE', path: missing, status: 404, once: ['customizeQuery'], never: afterLoading },
  { title: 'DELETE of a hidden row', method: 'DELETE', path: hidden, status: 404, once: ['customizeQuery'], never: afterLoading, ...hides },
  { title: 'DELETE that a voter denies', method: 'DELETE', path: item, status: 403, headers: deny('CHANGE'), once: ['customizeQuery', 'voter SEE', 'voter CHANGE'], never: afterAccess },
  { title: 'DELETE with a current tag', method: 'DELETE', path: item, status: 204, tag: 'current', once: removing, ...isVersioned },
  { title: 'DELETE with a stale tag', method: 'DELETE', path: item, status: 412, tag: 'stale', once: loading, never: ['afterCommit'], ...isVersioned },

  ...associations,

  { title: 'single GET action', method: 'GET', path: one('info'), status: 200, once: [...handling, ...embedded] },
  { title: 'single GET action on a hidden row', method: 'GET', path: one('info', ids.hidden), status: 404, once: ['customizeQuery'], never: afterLoading, ...hides },
  { title: 'single GET action that a voter denies', method: 'GET', path: one('info'), status: 403, headers: deny('SEE'), once: ['customizeQuery', 'voter SEE'], never: afterAccess },
  { title: 'single POST action', method: 'POST', path: one('touch'), status: 200, json: {}, once: [...handling, 'voter CHANGE'] },
  { title: 'single POST action on a missing row', method: 'POST', path: one('touch', ids.missing), status: 404, json: {}, once: ['customizeQuery'], never: afterLoading },
  { title: 'single POST action on a hidden row', method: 'POST', path: one('touch', ids.hidden), status: 404, json: {}, once: ['customizeQuery'], never: afterLoading, ...hides },
  { title: 'single POST action that a voter denies', method: 'POST', path: one('touch'), status: 403, json: {}, headers: deny('CHANGE'), once: ['customizeQuery', 'voter CHANGE'], never: afterAccess },
  { title: 'single POST action with a stale tag', method: 'POST', path: one('touch'), status: 412, json: {}, tag: 'stale', once: loading, ...isVersioned },
  { title: 'single POST action that throws', method: 'POST', path: one('touch'), status: 400, json: {}, headers: { 'x-handler': 'throw' }, once: [...loading, 'voter CHANGE', 'handler'] },
  { title: 'single POST action that returns violations', method: 'POST', path: one('touch'), status: 422, json: {}, unchanged: true, unkept: true, headers: { 'x-handler': 'status' }, once: [...loading, 'voter CHANGE', 'handler'] },
  { title: 'collection action', method: 'POST', path: '/work.json', status: 200, json: {}, once: ['voter SEE', 'voter CHANGE', 'afterAccessCheck', 'handler', 'beforeSerialize'], never: ['customizeQuery'], unchanged: true },
  { title: 'collection action that a voter denies', method: 'POST', path: '/work.json', status: 403, json: {}, headers: deny('CHANGE'), once: ['voter SEE', 'voter CHANGE'], never: afterAccess },
  { title: 'collection action with paginate', method: 'GET', path: '/mine.json', status: 200, once: ['voter SEE', 'afterAccessCheck', 'handler', 'customizeQuery', ...embedded, 'beforeSerialize'] },
  { title: 'collection action with query()', method: 'GET', path: '/total.json', status: 200, once: ['voter SEE', 'handler', 'customizeQuery'] },
];

/** The steps that a variant has no code for. */
function lacks(variant: Variant, step: string, path: string): boolean {
  if (embedded.includes(step)) return !variant.embeds && !/(tags|label)\.json$/.test(path);
  if (step === 'customizeQuery') return !variant.restricts;
  if (step === 'controller.validate' || /^(before|after)[A-Z]/.test(step)) return !variant.hooks;
  if (['addTag', 'removeTag', 'model.validate', 'constraint'].includes(step)) return !variant.rules;
  return false;
}

function withoutAssociations(json: unknown): unknown {
  if (json === undefined) return undefined;
  const { category: _, tags: __, ...rest } = json as Record<string, unknown>;
  return rest;
}

/**
 * The forms of restriction that a variant tries a case with. Trying all of them takes minutes (`ENGINE_FORMS=all`). By default it is two
 * of them, chosen so that each case is tried with nearly every form by some variant; on PostgreSQL it is one of the two, as calls do not
 * depend on the database.
 */
function formsFor(database: DatabaseKind, name: VariantName, sent: Case, keyed: boolean): string[] {
  const all = Object.keys(forms).filter((form) => !sent.forms || sent.forms(form));
  if (process.env.ENGINE_FORMS === 'all') return all;
  const turn = cases.indexOf(sent) * 3 + Object.keys(variants).indexOf(name);
  const pick = (among: string[]) => among[turn % among.length] as string;
  const shaped = pick(all.filter((form) => shapedForms.includes(form)));
  const simple = pick(all.filter((form) => !shapedForms.includes(form)));
  if (!keyed) return database === 'sqlite' ? [simple, shaped] : [turn % 2 ? simple : shaped];
  return turn % 2 ? [] : [turn % 4 ? shaped : simple];
}

/** Counts the calls of application code during requests of every kind. */
export function describeCalls(database: DatabaseKind): void {
  let fresh: FreshDatabase;
  let app: CountedApplication;
  /** The rows of each variant in their first state, and whether they are in it. */
  const first = new Map<VariantName, string>();
  const dirty = new Set<VariantName>();

  beforeAll(async () => {
    fresh = await freshDatabase(database);
    app = await startCounted(fresh.url);
  });

  afterAll(async () => {
    await app?.close();
    await fresh?.drop();
  });

  const rowsOf = async (name: VariantName) => JSON.stringify(await app.rows(name));

  async function restore(name: VariantName): Promise<string> {
    const known = first.get(name);
    if (known !== undefined && !dirty.has(name)) return known;
    await app.restore(name);
    dirty.delete(name);
    const rows = await rowsOf(name);
    first.set(name, rows);
    return rows;
  }

  /** Sends the request of a case and returns what is wrong with its status, its calls and its effect. */
  async function faultsOf(name: VariantName, sent: Case, form: string, key?: string): Promise<string[]> {
    let before = await restore(name);
    const headers: Record<string, string> = { 'x-form': form, ...sent.headers, ...(key && { 'idempotency-key': key }) };
    if (sent.body !== undefined) headers['content-type'] = 'application/json';
    if (sent.tag) {
      const { headers: got } = await app.request('GET', `/${name}/${ids.item}.json`, { headers: { 'x-form': form } });
      headers[sent.tag === 'if-none-match' ? 'if-none-match' : 'if-match'] = got.get('etag') as string;
    }
    if (sent.tag === 'stale') {
      await app.outdate(name, ids.item);
      dirty.add(name);
      before = await rowsOf(name);
    }
    const { method, path, body, status } = sent;
    const variant: Variant = variants[name];
    const json = variant.embeds ? sent.json : withoutAssociations(sent.json);
    app.calls.reset();
    const send = () =>
      app.request(method, `/${name}${path}`, {
        headers,
        ...(json !== undefined && { json }),
        ...(body !== undefined && { body }),
      });
    const response = await send();
    const faults: string[] = [];
    if (response.status !== status)
      faults.push(`status ${response.status} in place of ${status}: ${response.text.slice(0, 300)}`);
    for (const [step, count] of app.calls.all()) if (count > 1) faults.push(`${step} ran ${count} times`);
    for (const step of sent.once ?? [])
      if (!lacks(variant, step, path) && app.calls.of(step) === 0) faults.push(`${step} did not run`);
    for (const step of sent.never ?? []) if (app.calls.of(step) > 0) faults.push(`${step} ran`);
    const after = await rowsOf(name);
    const isUnchanged = status >= 400 || sent.unchanged === true || ['GET', 'HEAD'].includes(method);
    if (after !== before) dirty.add(name);
    if (isUnchanged && after !== before) faults.push('rows changed');
    if (!isUnchanged && after === before) faults.push('no row changed');
    if (key && status < 400) {
      app.calls.reset();
      const replayed = await send();
      // the request itself may have removed or hidden the row
      if (replayed.status !== 404 && replayed.status !== status)
        faults.push(`status ${replayed.status} of the repetition: ${replayed.text.slice(0, 200)}`);
      for (const [step, count] of app.calls.all()) if (count > 1) faults.push(`${step} ran ${count} times in the repetition`);
      for (const step of [...afterDeserialization, 'handler']) {
        if (step !== 'beforeSerialize' && app.calls.of(step) > 0) faults.push(`${step} ran in the repetition`);
      }
      if ((await rowsOf(name)) !== after) faults.push('rows changed in the repetition');
    }
    return faults;
  }

  async function faultsByForm(name: VariantName, sent: Case, keyed: boolean): Promise<Record<string, string[]>> {
    const faults: Record<string, string[]> = {};
    for (const form of formsFor(database, name, sent, keyed)) {
      const found = await faultsOf(name, sent, form, keyed ? randomUUID() : undefined);
      if (found.length > 0) faults[form] = found;
    }
    return faults;
  }

  describe.each(Object.keys(variants) as VariantName[])('application code of the variant "%s"', (name) => {
    const place = Object.keys(variants).indexOf(name);
    // calls do not depend on the database, so each case is tried with a third of the variants, on either database
    const tried = partOf(cases, 6, place + (database === 'sqlite' ? 0 : 3)).filter(({ of }) => !of || of(variants[name]));

    test.each(tried)('runs once: $title', async (sent) => {
      expect(await faultsByForm(name, sent, false)).toEqual({});
    });

    const keyed = tried
      .filter(({ unkept }) => !unkept)
      .filter((sent) => !['GET', 'HEAD'].includes(sent.method) && formsFor(database, name, sent, true).length > 0);

    test.each(keyed)('runs once with an idempotency key: $title', async (sent) => {
      expect(await faultsByForm(name, sent, true)).toEqual({});
    });
  });

  describe('application code of another API', () => {
    let other: FreshDatabase;
    let nested: NestedApplication;

    beforeAll(async () => {
      other = await freshDatabase(database);
      nested = await startNested(other.url);
    });

    afterAll(async () => {
      await nested?.close();
      await other?.drop();
    });

    // biome-ignore format: one case a line
    test.each([
      ['list with embedded rows of the same class', 'GET', '/node.json', undefined, 200, []],
      ['fetch with an embedded row of the same class', 'GET', '/node/2.json', undefined, 200, []],
      ['PATCH with a reference to the same class', 'PATCH', '/node/3.json', { parent: { id: 1 } }, 200, []],
      ['PATCH with a hidden reference to the same class', 'PATCH', '/node/3.json', { parent: { id: 4 } }, 400, []],
      ['list with rows of a class that has two APIs', 'GET', '/shelf.json', undefined, 200, ['book.customizeQuery _entity']],
      ['fetch with rows of a class that has two APIs', 'GET', '/shelf/1.json', undefined, 200, ['book.customizeQuery _entity']],
      ['create with references to a class that has two APIs', 'POST', '/shelf.json', { books: [{ id: 1 }, { id: 2 }] }, 201, ['book.customizeQuery _entity']],
      ['PATCH with references to a class that has two APIs', 'PATCH', '/shelf/1.json', { books: [{ id: 1 }, { id: 2 }] }, 200, ['book.customizeQuery _entity']],
      ['PUT with references to a class that has two APIs', 'PUT', '/shelf/1.json', { books: [{ id: 2 }, { id: 1 }] }, 200, ['book.customizeQuery _entity']],
    ] as const)('runs once: %s', async (_, method, path, json, status, once) => {
      for (const form of ['where', 'clone', 'async', 'limit', 'distinct']) {
        nested.calls.reset();
        const response = await nested.request(method, path, { headers: { 'x-form': form }, ...(json && { json }) });
        expect({ form, status: response.status }).toEqual({ form, status });
        expect({ form, repeated: nested.calls.all().filter(([, count]) => count > 1) }).toEqual({ form, repeated: [] });
        expect({ form, missing: once.filter((step) => nested.calls.of(step) === 0) }).toEqual({ form, missing: [] });
      }
    });
  });

  describe('application code in the first request of a process', () => {
    let other: FreshDatabase;
    let young: CountedApplication;

    async function started<Result>(use: () => Promise<Result>): Promise<Result> {
      other = await freshDatabase(database);
      young = await startCounted(other.url);
      try {
        return await use();
      } finally {
        await young.close();
        await other.drop();
      }
    }

    test.each([
      ['add', 'POST', 1003, 'addTag', 3],
      ['remove', 'DELETE', 1002, 'removeTag', 1],
    ] as const)('runs once: %s through a method that also sets a field', async (_, method, id, step, amount) => {
      for (const name of ['ruled', 'unrestricted', 'bareRuled', 'everything'] as const) {
        await started(async () => {
          await young.restore(name);
          const { status } = await young.request(method, `/${name}/${ids.item}/tags.json`, {
            json: { id },
            headers: { 'x-form': 'where' },
          });
          const sql = `select amount from ${tableName(name)} where id = ${ids.item}`;
          const [row] = await young.application.mapper.em.fork().execute(sql);
          const { calls } = young;
          expect({
            name,
            status,
            [step]: calls.of(step),
            validate: calls.of('model.validate'),
            constraint: calls.of('constraint'),
            amount: Number(row?.amount),
          }).toEqual({
            name,
            status: 200,
            [step]: 1,
            validate: 1,
            constraint: 1,
            amount,
          });
          expect(calls.all().filter(([, count]) => count > 1)).toEqual([]);
        });
      }
    });
  });
}
