import { describe, expect, test } from 'vitest';
import { databases } from '../support/databases.ts';
import { numbersOn, seed } from '../support/random.ts';
import { type Caller, declaredGroups, grantedGroups, isIn, modelOf, settableOf } from './oracle.ts';
import type { ApiSpec, ApplicationSpec, EmbeddedSpec, LinkSpec, PropertySpec } from './random-spec.ts';
import { callers, Walk } from './walk.ts';

/** On each database, and others on the other one. */
const applications = 1;

type Json = Record<string, any>;

/** The body of PUT for what was read: only fields that the caller can write, and references in place of embedded rows. */
function bodyFor(app: ApplicationSpec, model: string, read: Json, groups: readonly string[]): Json | null {
  const body: Json = {};
  for (const property of settableOf(app, model)) {
    if (!isIn(property, groups) || !(property.json in read)) continue;
    const value = read[property.json];
    if ('to' in property) {
      const items: Json[] = [value].flat().filter((item) => item !== null);
      // a row without a visible key cannot be referred to
      if (items.some((item) => !('id' in item))) return null;
      const isMany = (property as unknown as LinkSpec).kind === 'to-many';
      body[property.json] = isMany ? items.map(({ id }) => ({ id })) : value && { id: value.id };
    } else if ('parts' in property && value !== null) {
      const parts = (property as EmbeddedSpec).parts.filter((part) => isIn(part, groups) && part.json in value);
      body[property.json] = Object.fromEntries(parts.map(({ json }) => [json, value[json]]));
    } else body[property.json] = value;
  }
  return body;
}

/** The fields of responses that getters make of columns that PUT sets to their defaults. */
function gettersOf(app: ApplicationSpec, api: ApiSpec, ignored: ReadonlySet<string>): Set<string> {
  const classes = app.models.filter(({ root }) => root === modelOf(app, api.model).root);
  return new Set(classes.flatMap(({ getters }) => getters.filter(({ of }) => ignored.has(of)).map(({ json }) => json)));
}

/** The columns of fields that nobody can read through the action, so PUT sets them to their defaults. */
function writeOnlyColumns(app: ApplicationSpec, api: ApiSpec): Set<string> {
  const declared = declaredGroups(api, 'entity', 'read');
  const isWriteOnly = (property: PropertySpec) => !isIn(property, declared);
  const classes = app.models.filter(({ root }) => root === modelOf(app, api.model).root);
  const columns = classes.flatMap(({ columns: own, embedded, links }) => [
    ...own.filter(isWriteOnly).map(({ name }) => name),
    ...links.filter(isWriteOnly).map(({ name }) => `${name}_id`),
    ...embedded.flatMap((each) =>
      each.parts
        .filter((part) => isWriteOnly(each) || isWriteOnly(part))
        .flatMap((part) => [`${each.name}_${part.name}`, each.name]),
    ),
  ]);
  return new Set([...columns, 'version']);
}

describe.each(databases)(`PUT of what a caller has read, in random applications on %s (TEST_SEED=${seed})`, (kind) => {
  test.each(numbersOn(kind, applications))('changes nothing, application %i', async (number) => {
    const walk = await Walk.start(kind, seed + 31 + number * 6151);
    let sent = 0;
    try {
      for (const api of walk.spec.apis) {
        const ignored = writeOnlyColumns(walk.spec, api);
        const changing = gettersOf(walk.spec, api, ignored);
        const shown = (text: string) => JSON.parse(text, (key, value) => (changing.has(key) ? undefined : value));
        const root = modelOf(walk.spec, api.model).root;
        const rows = walk.data.filter(({ model }) => modelOf(walk.spec, model).root === root);
        const stateOf = async () =>
          (await walk.rows())
            .get(root)
            ?.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !ignored.has(name))));
        for (const [i, caller] of callers.entries()) {
          await walk.fill(walk.data);
          const before = await stateOf();
          const changed: string[] = [];
          for (const row of rows.filter((_, j) => (i + j) % 2 === 0)) {
            const path = `/${api.name}/${row.id}.json`;
            const read = await walk.send({ method: 'GET', path }, caller);
            if (read.status !== 200) continue;
            const groups = grantedGroups(api, 'entity', 'write', caller, row.owner);
            const body = bodyFor(walk.spec, row.model, JSON.parse(read.text), groups);
            if (body === null) continue;
            const headers = { 'content-type': 'application/json' };
            const written = await walk.send({ method: 'PUT', path, body: JSON.stringify(body), headers }, caller);
            // an object that is required, and that no caller can read, is missing
            if (written.status === 422) continue;
            sent++;
            changed.push(`PUT ${path} ${JSON.stringify(body)} by ${named(caller)}: ${written.status} ${written.text}`);
            expect([written.status, written.text], changed.at(-1)).toEqual([200, expect.any(String)]);
            expect(shown(written.text), changed.at(-1)).toEqual(shown(read.text));
          }
          expect(await stateOf(), changed.join('\n')).toEqual(before);
        }
      }
      expect(sent).toBeGreaterThan(20);
    } finally {
      await walk.close();
    }
  });
});

const named = (caller: Caller | null) => (caller ? `${caller.id} ${caller.roles.join()}` : 'nobody');
