import type { FieldPlan } from './field-plan.ts';
import { madeNames } from './normalization.ts';

/** Which fields of an object are shown: all of a field (null), or a choice of those within it. */
export type FieldChoice = ReadonlyMap<string, FieldChoice | null>;

/** Chooses fields by dotted paths of JSON names. Returns the first path that the plan does not show as `unknown`. */
export function chooseFields(plan: FieldPlan, paths: readonly string[]): FieldChoice | { readonly unknown: string } {
  const choice = new Map<string, FieldChoice | null>();
  for (const path of paths) {
    const names = path.split('.');
    if (!shows(plan, names)) return { unknown: path };
    choose(choice, names);
  }
  return choice;
}

/** Every path that a plan shows: `id`, `center`, `center.name`. */
export function pathsIn(plan: FieldPlan): string[] {
  const paths = new Set<string>();
  for (const [meta, fields] of plan.variants) {
    const normalized = plan.normalizations?.get(meta);
    if (normalized) {
      for (const name of madeNames(normalized) ?? []) paths.add(name);
      continue;
    }
    for (const field of fields) {
      paths.add(field.name);
      if (field.kind !== 'scalar' && !field.normalization)
        for (const inner of pathsIn(field.plan)) paths.add(`${field.name}.${inner}`);
    }
  }
  return [...paths];
}

/** The chosen fields of an object that was made by the plan, or of a list of such objects. */
export function chosenOf(value: unknown, choice: FieldChoice): unknown {
  if (Array.isArray(value)) return value.map((item) => chosenOf(item, choice));
  if (typeof value !== 'object' || value === null) return value;
  if ('toJSON' in value) return chosenOf(JSON.parse(JSON.stringify(value)), choice);
  const chosen: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(value)) {
    const inner = choice.get(name);
    if (inner !== undefined) chosen[name] = inner === null ? item : chosenOf(item, inner);
  }
  return chosen;
}

/** A text that is the same for the same choice. */
export function choiceKey(choice: FieldChoice): string {
  const parts = [...choice].map(([name, inner]) => JSON.stringify(name) + (inner ? `{${choiceKey(inner)}}` : ''));
  return parts.sort().join();
}

function shows(plan: FieldPlan, [name, ...rest]: readonly string[]): boolean {
  return [...plan.variants].some(([meta, fields]) => {
    const normalized = plan.normalizations?.get(meta);
    if (normalized) return rest.length === 0 && madeNames(normalized)?.includes(name as string) === true;
    const field = fields.find((candidate) => candidate.name === name);
    if (!field || rest.length === 0) return field !== undefined;
    return field.kind !== 'scalar' && !field.normalization && shows(field.plan, rest);
  });
}

function choose(choice: Map<string, FieldChoice | null>, [name, ...rest]: readonly string[]): void {
  const known = choice.get(name as string);
  if (rest.length === 0 || known === null) {
    choice.set(name as string, null);
    return;
  }
  const inner = (known as Map<string, FieldChoice | null> | undefined) ?? new Map();
  choice.set(name as string, inner);
  choose(inner, rest);
}
