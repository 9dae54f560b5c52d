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
  if (field.kind !== 'embedded' || !isPresent(embedded)) return undefined;
  const plan = planOf(field, embedded);
  if (!plan) return undefined;
  const hidden = hiddenParts(plan, embedded);
  const fields = [...plan.fields.values()];
  for (const inner of fields) {
    const retained = inner.unseen ? undefined : retainedIn(inner, embedded);
    if (retained) hidden[inner.property] = retained;
  }
  if (Object.values(hidden).every((part) => part === null || part === undefined)) return undefined;
  const cleared = Object.fromEntries(fields.map(({ property }) => [property, null]));
  const { discriminator } = plan;
  return { ...cleared, ...hidden, ...(discriminator && { [discriminator.property]: discriminator.value }) };
}

/** The plan of the class of an object. */
function planOf({ plans }: EmbeddedWrite, embedded: Values): EmbeddedPlan | undefined {
  if (plans.length === 1) return plans[0];
  return plans.find(({ discriminator }) => discriminator && embedded[discriminator.property] === discriminator.value);
}

/**
 * Gives items of an embedded list the parts that bodies cannot set, or that the caller cannot see, from those items so far that look
 * the same to the caller. So a body that the caller has read changes nothing. Null if items have no such parts.
 */
export function retainedInItems(field: EmbeddedWrite, current: Values | null): ((made: Values, sent: Values) => Values) | null {
  const before = current?.[field.property];
  if (!Array.isArray(before) || !before.some((item) => hasHidden(field, item))) return null;
  const rest = Map.groupBy(before as Values[], (item) => textOf(field, item));
  return (made, sent) => {
    const same = rest.get(textOf(field, made))?.shift();
    return same ? withHidden(field, made, same, sent) : made;
  };
}

/** Whether an object, or one in it, has parts that {@link hiddenParts} keeps. */
function hasHidden(field: EmbeddedWrite, embedded: Values): boolean {
  const plan = planOf(field, embedded);
  if (!plan) return false;
  if (Object.keys(hiddenParts(plan, embedded)).length > 0) return true;
  return innerFields(plan).some((inner) => {
    const value = embedded[inner.property];
    if (inner.array) return Array.isArray(value) && value.some((item) => hasHidden(inner, item));
    return isPresent(value) && hasHidden(inner, value);
  });
}

/** What an object, and those in it, look like to the caller, as a text. */
function textOf(field: EmbeddedWrite, item: Values): string {
  return JSON.stringify(looksOf(field, item), bigintAsText);
}

/** Values that nobody can see belong to the looks of an item itself only: a body with what was read lacks them. */
function looksOf(field: EmbeddedWrite, item: Values, isWithin = false): unknown {
  const plan = planOf(field, item);
  if (!plan) return null;
  const isCompared = (each: WritableField) => !each.unseen && (each.shown || !isWithin);
  const scalars = [...plan.fields.values()].filter((each) => each.kind === 'scalar' && !each.custom && isCompared(each));
  const inner = innerFields(plan).map((each) => {
    const value = item[each.property];
    if (each.array) return Array.isArray(value) ? value.map((one) => looksOf(each, one, true)) : null;
    return isPresent(value) ? looksOf(each, value, true) : null;
  });
  return [plan.discriminator?.value ?? null, ...scalars.map(({ property }) => item[property] ?? null), ...inner];
}

/** The new object with the hidden parts of the one that looks the same, also those of the objects in it. */
function withHidden(field: EmbeddedWrite, made: Values, same: Values, sent: Values): Values {
  const plan = planOf(field, same);
  if (!plan) return made;
  const merged = { ...made, ...hiddenParts(plan, same, sent) };
  for (const inner of innerFields(plan)) {
    const [before, now, given] = [same[inner.property], made[inner.property], sent[inner.name]];
    if (Array.isArray(before) && Array.isArray(now) && Array.isArray(given))
      merged[inner.property] = now.map((item, i) => withHidden(inner, item, before[i], given[i]));
    else if (isPresent(before) && isPresent(now))
      merged[inner.property] = withHidden(inner, now, before, (given ?? {}) as Values);
  }
  return merged;
}

/** The objects in an object that bodies can set and that the caller sees: only these look the same if the object does. */
function innerFields({ fields }: EmbeddedPlan): EmbeddedWrite[] {
  return [...fields.values()].flatMap((field) => (field.kind === 'embedded' && field.shown ? [field] : []));
}

function isPresent(value: unknown): value is Values {
  return typeof value === 'object' && value !== null;
}

function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

/**
 * Whether the caller takes an object that a body sets for none: it has no values, and can have parts that the caller does not see. If
 * it were stored where none is, the new version of the row would reveal that there was none.
 */
export function looksMissing({ nullable, plans }: EmbeddedWrite, made: unknown): boolean {
  const [plan, ...others] = plans;
  return nullable && plan !== undefined && others.length === 0 && isEmpty(made) && hidesParts(plan);
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every(isEmpty);
}

function hidesParts({ fields, meta }: EmbeddedPlan): boolean {
  const shown = [...fields.values()].filter((field) => field.shown).map(({ property }) => property);
  return ownProperties(meta).some((part) => part.persist !== false && !shown.includes(part.name as string));
}

/**
 * The parts of an embedded object that bodies cannot set, and those that the caller cannot see and did not send. Required parts that
 * have no value so far are left out: MikroORM would reject them.
 */
export function hiddenParts({ discriminator, fields, meta }: EmbeddedPlan, embedded: Values, sent: Values = {}): Values {
  const isSet = ({ name, unseen }: WritableField) => !unseen || Object.hasOwn(sent, name);
  const settable = new Set([...fields.values()].filter(isSet).map(({ property }) => property));
  const isUnset = ({ name, nullable }: EntityProperty) => !nullable && (embedded[name] ?? null) === null;
  if (discriminator) settable.add(discriminator.property);
  const parts = ownProperties(meta).filter((part) => part.persist !== false && !settable.has(part.name) && !isUnset(part));
  return Object.fromEntries(parts.map(({ name }) => [name as string, embedded[name as string]]));
}
