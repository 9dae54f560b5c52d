import { type Draft, draftOf, draftValue, emptyDraft, type Fault, type ObjectDraft, objectValue, variantOf } from './draft.ts';
import type { Field, FieldOf } from './form-model.ts';

type Row = Readonly<Record<string, unknown>>;

/** Whether two JSON values are equal, whatever the order of keys. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => isEqual((a as Row)[key], (b as Row)[key]));
}

const noLabel = () => '';

/** The body of a creation: fields that were left empty and have a default, or are optional, are left out. */
export function createBody(form: FieldOf<'object'>, draft: ObjectDraft): { body: Row; faults: readonly Fault[] } {
  const faults: Fault[] = [];
  const body = objectValue(form, draft, '', faults);
  const optional = variantOf(form, draft.type).fields.filter(({ required }) => !required);
  for (const field of optional) if (isUntouched(field, draft.fields[field.name] ?? null)) delete body[field.name];
  return { body, faults };
}

function isUntouched(field: Field, draft: Draft): boolean {
  // the caller may not be allowed to send the field
  if (field.role !== null && isEqual(draft, emptyDraft(field, noLabel))) return true;
  if (field.default !== undefined) return false;
  return draft === null || draft === '' || (Array.isArray(draft) && draft.length === 0);
}

/** The values of a row as bodies have them: only writable fields, and references instead of embedded rows. */
export function writable(form: FieldOf<'object'>, row: Row): Row {
  return objectValue(form, draftOf(form, row, noLabel) as ObjectDraft, '', []);
}

/** The value of each field as it would be stored. Fields that were not touched keep their exact value. */
export function editedValues(form: FieldOf<'object'>, row: Row, draft: ObjectDraft): { values: Row; faults: readonly Fault[] } {
  const faults: Fault[] = [];
  const shown = draftOf(form, row, noLabel) as ObjectDraft;
  const stored = writable(form, row);
  const entries = variantOf(form, draft.type).fields.flatMap((field) => {
    const own = draft.fields[field.name] ?? null;
    const before = shown.fields[field.name] ?? null;
    const isSame = isEqual(withoutLabels(own), withoutLabels(before));
    if (isSame && !Object.hasOwn(row, field.name)) return [];
    checkEmptied(field, before, own, field.name, faults);
    const value = isSame ? stored[field.name] : draftValue(field, own, field.name, faults);
    return value === undefined ? [] : [[field.name, value] as const];
  });
  return { values: Object.fromEntries(entries), faults };
}

/** A value that cannot be null would silently stay if its field was emptied. */
function checkEmptied(field: Field, before: Draft, own: Draft, path: string, faults: Fault[]): void {
  if (field.kind === 'object' && before !== null && own !== null) {
    const [was, now] = [before as ObjectDraft, own as ObjectDraft];
    for (const each of variantOf(field, now.type).fields)
      checkEmptied(each, was.fields[each.name] ?? null, now.fields[each.name] ?? null, `${path}.${each.name}`, faults);
    return;
  }
  const isText = field.kind === 'text' || field.kind === 'long-text';
  const isEmptied = own === null || (own === '' && !isText);
  if (isEmptied && before !== null && before !== '' && !field.nullable) faults.push({ path, message: 'This needs a value.' });
}

/** References are equal if they point to the same row, whatever they are called. */
function withoutLabels(draft: Draft): unknown {
  return JSON.parse(JSON.stringify(draft, (key, value: unknown) => (key === 'label' ? undefined : value)));
}

/** The typed values, on top of the row as another caller sees it. */
export function rebased(
  form: FieldOf<'object'>,
  base: Row,
  draft: ObjectDraft,
  row: Row,
  label: (value: unknown) => string,
): ObjectDraft {
  const shown = draftOf(form, base, noLabel) as ObjectDraft;
  const fresh = draftOf(form, row, label) as ObjectDraft;
  const typed = Object.entries(draft.fields).filter(
    ([name, own]) => Object.hasOwn(fresh.fields, name) && !isEqual(withoutLabels(own), withoutLabels(shown.fields[name] ?? null)),
  );
  return { ...fresh, fields: { ...fresh.fields, ...Object.fromEntries(typed) } };
}

/** The fields of a PATCH: those that differ from the row as it was loaded. */
export function changedFields(form: FieldOf<'object'>, stored: Row, values: Row): { body: Row; faults: readonly Fault[] } {
  const faults: Fault[] = [];
  const fields = form.variants.flatMap((variant) => variant.fields);
  const changed = Object.entries(values).filter(([name, value]) => !isEqual(stored[name], value));
  const entries = changed.map(([name, value]) => {
    const field = fields.find((each) => each.name === name);
    return [name, field ? patchOf(field, stored[name], value, name, faults) : value] as const;
  });
  return { body: Object.fromEntries(entries), faults };
}

/** JSON is merged into the stored JSON (RFC 7396), so removed keys are named. */
function patchOf(field: Field, before: unknown, after: unknown, path: string, faults: Fault[]): unknown {
  if (field.kind === 'json') {
    const merged = mergePatch(before, after);
    if (merged.hasNull) faults.push({ path, message: 'A change cannot store null in an object: remove the key instead.' });
    return merged.patch;
  }
  if (field.kind !== 'object' || !isObject(before) || !isObject(after)) return after;
  const fields = field.variants.flatMap((variant) => variant.fields);
  const entries = Object.entries(after).map(([name, value]) => {
    const inner = fields.find((each) => each.name === name);
    return [name, inner ? patchOf(inner, before[name], value, `${path}.${name}`, faults) : value] as const;
  });
  return Object.fromEntries(entries);
}

function mergePatch(before: unknown, after: unknown): { readonly patch: unknown; readonly hasNull: boolean } {
  if (!isObject(after)) return { patch: after, hasNull: false };
  const from = isObject(before) ? before : {};
  const removed = Object.keys(from).filter((key) => !Object.hasOwn(after, key));
  const changed = Object.keys(after).filter((key) => !Object.hasOwn(from, key) || !isEqual(from[key], after[key]));
  const merged = changed.map((key) => [key, mergePatch(from[key], after[key])] as const);
  return {
    patch: Object.fromEntries([
      ...removed.map((key) => [key, null] as const),
      ...merged.map(([key, { patch }]) => [key, patch] as const),
    ]),
    hasNull: merged.some(([, { hasNull, patch }]) => hasNull || patch === null),
  };
}

function isObject(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A field of which there are two versions. */
export interface Difference {
  readonly name: string;
  readonly base: unknown;
  readonly mine: unknown;
  readonly theirs: unknown;
  /** Whether both sides changed it, to different values; otherwise only the other side did. */
  readonly isConflict: boolean;
}

/** Compares three versions field by field: as loaded, as edited, and as stored now. */
export function differences(base: Row, mine: Row, theirs: Row): Difference[] {
  const names = [...new Set([...Object.keys(mine), ...Object.keys(theirs)])];
  return names.flatMap((name) => {
    const [was, own, other] = [base[name], mine[name], theirs[name]];
    if (isEqual(was, other) || isEqual(own, other)) return [];
    return [{ name, base: was, mine: own, theirs: other, isConflict: !isEqual(was, own) }];
  });
}
