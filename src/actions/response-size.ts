import { Collection, type EntityMetadata, helper, Reference } from '@mikro-orm/core';
import { problem } from '../errors.ts';
import { isTurnLong, nextTurn } from '../event-loop.ts';
import type { Field, FieldPlan } from '../model/field-plan.ts';
import { hasAccessor } from '../model/own-code.ts';
import { byClass, populatePlan } from '../query/entities/populate.ts';
import type { BeforeCommit } from '../store/entity-store.ts';
import { stateOf } from '../store/request-state.ts';
import type { Framework } from './start/runtime.ts';

/**
 * Loads what the response to a write shows before the commit, so that a response over the limit rolls the write back. The size is
 * at most that of the response: rows that may be hidden from the caller and values of unknown size do not count.
 */
export function responseLoader(framework: Framework): BeforeCommit {
  const { declaration, mapper } = framework;
  const limit = declaration.server.responseLimit;
  return async (request, entities, groups) => {
    const { em } = stateOf(request, mapper);
    const visibility = framework.visibilityOf(request);
    const serializer = framework.serializer(groups);
    let bytes = 0;
    for (const [meta, those] of byClass(em, entities)) {
      const plan = serializer.planFor(meta);
      await populatePlan(em, those, plan);
      for (const entity of those) {
        for (const size of sizes(entity, plan, (target) => visibility.isLimited(target))) {
          bytes += size;
          if (bytes > limit) throw problem('response_too_large', { limit });
          if (isTurnLong()) await nextTurn();
        }
      }
    }
  };
}

/** The bytes of the parts of an entity. */
function* sizes(entity: object, plan: FieldPlan, isLimited: (meta: EntityMetadata) => boolean): Generator<number> {
  const meta = helper(entity).__meta as EntityMetadata;
  for (const [own, fields] of plan.variants) {
    if (own.class !== meta.class || plan.normalizations?.get(own)) continue;
    for (const field of fields) {
      // code of the model runs once, for the response
      if (field.normalization || field.metadata.serializer || hasAccessor(meta, field.property)) continue;
      yield field.name.length;
      yield* sizesOf(field, (entity as Record<string, unknown>)[field.property], isLimited);
    }
  }
}

function* sizesOf(field: Field, value: unknown, isLimited: (meta: EntityMetadata) => boolean): Generator<number> {
  if (typeof value === 'string') yield value.length;
  else if (value instanceof Uint8Array) yield value.byteLength;
  if (field.kind !== 'to-one' && field.kind !== 'to-many') return;
  const items = value instanceof Collection ? value.getItems(false) : [value];
  for (const item of items) {
    const target = Reference.unwrapReference(item as object);
    if (!target || !helper(target)?.isInitialized() || isLimited(helper(target).__meta as EntityMetadata)) continue;
    yield* sizes(target, field.plan, isLimited);
  }
}
