import { Collection, type EntityMetadata, helper, Reference } from '@mikro-orm/core';
import type { FastifyReply } from 'fastify';
import type { ApiRequest } from '../access/user.ts';
import type { RequestEntityManager } from '../database/mapper.ts';
import { chosenOf, type FieldChoice } from '../model/field-choice.ts';
import type { FieldPlan } from '../model/field-plan.ts';
import { keyOf } from '../model/identifier.ts';
import { byClass, populatePlan } from '../query/populate.ts';
import { JsonReply } from '../response/json-reply.ts';
import { isEntity } from '../serialization/serializer.ts';
import { stateOf } from './request-state.ts';
import type { Framework } from './runtime.ts';

export const jsonType = 'application/json; charset=utf-8';

/** Sends what an action gave: serialized in its groups, or 204 where there is nothing. */
export async function respond(
  framework: Framework,
  request: ApiRequest,
  reply: FastifyReply,
  given: unknown,
): Promise<FastifyReply> {
  const { value, status, groups, headers } = given instanceof JsonReply ? given : new JsonReply(given);
  reply.headers(headers);
  if (value === undefined) return reply.code(status === 200 ? 204 : status).send();
  const serializer = framework.serializer(groups ?? undefined);
  const { em } = stateOf(request, framework.mapper);
  for (const [meta, entities] of byClass(em, entitiesIn(value))) {
    const plan = serializer.planFor(meta);
    await loadRows(em, meta, entities);
    if (writes(request.method)) await readFormulas(em, meta, entities, plan);
    await populatePlan(em, entities, plan);
  }
  return reply
    .code(status)
    .type(jsonType)
    .send(JSON.stringify(chosen(serializer.serialize(value), stateOf(request, framework.mapper).choice)));
}

/** The fields that were chosen of the items of a list. */
function chosen(value: unknown, choice: FieldChoice | null): unknown {
  if (!choice || typeof value !== 'object' || value === null || !('results' in value)) return value;
  return { ...value, results: chosenOf(value.results, choice) };
}

/** A handler may give references to rows that nobody has read yet. */
async function loadRows(em: RequestEntityManager, meta: EntityMetadata, entities: readonly object[]): Promise<void> {
  const unread = entities.filter((entity) => !helper(entity).isInitialized());
  if (unread.length === 0) return;
  const keys = unread.map((entity) => helper(entity).getPrimaryKey());
  await em.find(meta.class, { [keyOf(meta).name]: { $in: keys } } as never);
}

function writes(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

/** What the database computes from other columns is as old as the last reading, or was never read, when these were written. */
async function readFormulas(
  em: RequestEntityManager,
  meta: EntityMetadata,
  entities: readonly object[],
  plan: FieldPlan,
): Promise<void> {
  const names = (plan.variants.get(meta) ?? []).filter(({ metadata }) => metadata.formula).map(({ property }) => property);
  const stored = entities.filter((entity) => helper(entity).__originalEntityData);
  if (names.length === 0 || stored.length === 0) return;
  const byKey = new Map(stored.map((entity) => [String(helper(entity).getPrimaryKey()), entity as Record<string, unknown>]));
  const where = { [keyOf(meta).name]: { $in: stored.map((entity) => helper(entity).getPrimaryKey()) } };
  const options = { fields: names, filters: false, disableIdentityMap: true };
  for (const row of (await em.find(meta.class, where as never, options as never)) as Record<string, unknown>[]) {
    const entity = byKey.get(String(helper(row).getPrimaryKey()));
    if (entity) for (const name of names) entity[name] = row[name];
  }
}

function entitiesIn(value: unknown): Set<object> {
  const found = new Set<object>();
  collect(value, found);
  return found;
}

/** The entities of an answer, wherever in it a handler put them. */
function collect(value: unknown, found: Set<object>): void {
  if (typeof value !== 'object' || value === null) return;
  if (isEntity(value)) found.add(value);
  else if (Array.isArray(value) || value instanceof Set) for (const item of value) collect(item, found);
  else if (value instanceof Collection) collect(value.getItems(false), found);
  else if (value instanceof Reference) collect(value.unwrap(), found);
  else if (value instanceof Map) collect([...value.values()], found);
  else if (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null)
    collect(Object.values(value), found);
}
