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
  const embedded = field.kind === 'embedded' && field.nullable && !field.array ? current?.[field.property] : null;
  if (field.kind !== 'embedded' || typeof embedded !== 'object' || embedded === null) return undefined;
  const plan = field.plans.length === 1 ? field.plans[0] : undefined;
  const hidden = plan && hiddenParts(plan, embedded as Values);
  if (!plan || !hidden || Object.values(hidden).every((part) => part === null || part === undefined)) return undefined;
  const cleared = Object.fromEntries([...plan.fields.values()].map(({ property }) => [property, null]));
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
  if (before.every((item) => Object.keys(hiddenParts(plan, item)).length === 0)) return null;
  const compared = [...plan.fields.values()].filter((field) => field.kind === 'scalar' && !field.custom && !field.unseen);
  const looks = (item: Values) =>
    JSON.stringify(
      compared.map((field) => item[field.property] ?? null),
      bigintAsText,
    );
  const rest = Map.groupBy(before as Values[], looks);
  return (made, sent) => {
    const same = rest.get(looks(made))?.shift();
    return same ? { ...made, ...hiddenParts(plan, same, sent) } : made;
  };
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
