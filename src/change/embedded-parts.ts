import type { EntityProperty } from '@mikro-orm/core';
import { ownProperties } from '../model/field-plan.ts';
import type { EmbeddedPlan, EmbeddedWrite, WritableField } from './write-plan.ts';

type Values = Record<string, unknown>;

/**
 * A nullable embedded object with only those parts that bodies cannot set, or that the caller cannot see. They stay if null or nothing
 * is sent, which clears only parts that the caller can set. Undefined if there are no such parts. A required object is a violation then,
 * whatever its parts are: otherwise the status would reveal whether they have values.
 */
export function retainedParts(field: WritableField, current: Values | null): unknown {
  return field.nullable ? retainedIn(field, current) : undefined;
}

/** The same for an object within another one, which is cleared together with it, whether it is nullable or not. */
function retainedIn(field: WritableField, current: Values | null): Values | undefined {
  const embedded = field.kind === 'embedded' && !field.array ? current?.[field.property] : null;
  if (field.kind !== 'embedded' || typeof embedded !== 'object' || embedded === null) return undefined;
  const plan = field.plans.length === 1 ? field.plans[0] : undefined;
  if (!plan) return undefined;
  const hidden = hiddenParts(plan, embedded as Values);
  const fields = [...plan.fields.values()];
  for (const inner of fields) {
    const retained = inner.unseen ? undefined : retainedIn(inner, embedded as Values);
    if (retained) hidden[inner.property] = retained;
  }
  if (Object.values(hidden).every((part) => part === null || part === undefined)) return undefined;
  const cleared = Object.fromEntries(fields.map(({ property }) => [property, null]));
  return { ...cleared, ...hidden };
}

/**
 * Gives items of an embedded list the parts that bodies cannot set, or that the caller cannot see, from those items so far that look
 * the same to the caller. So a body that the caller has read changes nothing. Null if items have no such parts.
 */
export function retainedInItems(
  { plans, property }: EmbeddedWrite,
  current: Values | null,
): ((made: Values, sent: Values) => Values) | null {
  const before = current?.[property];
  const [plan, ...others] = plans;
  if (!Array.isArray(before) || !plan || others.length > 0) return null;
  if (!before.some((item) => hasHidden(plan, item))) return null;
  const rest = Map.groupBy(before as Values[], (item) => textOf(plan, item));
  return (made, sent) => {
    const same = rest.get(textOf(plan, made))?.shift();
    return same ? withHidden(plan, made, same, sent) : made;
  };
}

/** Whether an object, or one in it, has parts that {@link hiddenParts} keeps. */
function hasHidden(plan: EmbeddedPlan, embedded: Values): boolean {
  if (Object.keys(hiddenParts(plan, embedded)).length > 0) return true;
  return innerFields(plan).some(({ array, plan: inner, property }) => {
    const value = embedded[property];
    if (array) return Array.isArray(value) && value.some((item) => hasHidden(inner, item));
    return isPresent(value) && hasHidden(inner, value);
  });
}

/** What an object, and those in it, look like to the caller, as a text. */
function textOf(plan: EmbeddedPlan, item: Values): string {
  return JSON.stringify(looksOf(plan, item), bigintAsText);
}

function looksOf(plan: EmbeddedPlan, item: Values): unknown {
  const scalars = [...plan.fields.values()].filter((field) => field.kind === 'scalar' && !field.custom && !field.unseen);
  const inner = innerFields(plan).map(({ array, plan: own, property }) => {
    const value = item[property];
    if (array) return Array.isArray(value) ? value.map((each) => looksOf(own, each)) : null;
    return isPresent(value) ? looksOf(own, value) : null;
  });
  return [...scalars.map((field) => item[field.property] ?? null), ...inner];
}

/** The new object with the hidden parts of the one that looks the same, also those of the objects in it. */
function withHidden(plan: EmbeddedPlan, made: Values, same: Values, sent: Values): Values {
  const merged = { ...made, ...hiddenParts(plan, same, sent) };
  for (const { array, field, plan: inner, property } of innerFields(plan)) {
    const [before, now, given] = [same[property], made[property], sent[field.name]];
    if (array) {
      const pairs = Array.isArray(before) && Array.isArray(now) && Array.isArray(given) ? now.entries() : [];
      const items = [...pairs].map(([i, item]) =>
        withHidden(inner, item, (before as Values[])[i] as Values, (given as Values[])[i] as Values),
      );
      if (items.length > 0) merged[property] = items;
    } else if (isPresent(before) && isPresent(now)) merged[property] = withHidden(inner, now, before, (given ?? {}) as Values);
  }
  return merged;
}

interface InnerField {
  readonly field: EmbeddedWrite;
  readonly property: string;
  readonly array: boolean;
  readonly plan: EmbeddedPlan;
}

/** The objects in an object that bodies can set, and that the caller sees. */
function innerFields({ fields }: EmbeddedPlan): InnerField[] {
  return [...fields.values()].flatMap((field) => {
    const plan = field.kind === 'embedded' && field.plans.length === 1 && !field.unseen ? field.plans[0] : undefined;
    return field.kind === 'embedded' && plan ? [{ field, property: field.property, array: field.array, plan }] : [];
  });
}

function isPresent(value: unknown): value is Values {
  return typeof value === 'object' && value !== null;
}

function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

/**
 * The parts of an embedded object that bodies cannot set, and those that the caller cannot see and did not send. Required parts that
 * have no value so far are left out: MikroORM would reject them.
 */
export function hiddenParts({ fields, meta }: EmbeddedPlan, embedded: Values, sent: Values = {}): Values {
  const isSet = ({ name, unseen }: WritableField) => !unseen || Object.hasOwn(sent, name);
  const settable = new Set([...fields.values()].filter(isSet).map(({ property }) => property));
  const isUnset = ({ name, nullable }: EntityProperty) => !nullable && (embedded[name] ?? null) === null;
  const parts = ownProperties(meta).filter((part) => part.persist !== false && !settable.has(part.name) && !isUnset(part));
  return Object.fromEntries(parts.map(({ name }) => [name as string, embedded[name as string]]));
}
