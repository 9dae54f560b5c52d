import type { Field, FieldOf, ReferenceTarget, Variant } from './form-model.ts';
import { idIn } from './key.ts';

/** The label of a reference before its row is loaded. */
export interface ReferenceDraft {
  readonly model: string;
  readonly type: string | null;
  readonly id: string | number;
  readonly label: string;
}

/** The input of a field. `null` means empty. Invalid texts are kept as typed. */
export type Draft = string | boolean | null | ReferenceDraft | ObjectDraft | readonly Draft[];

export interface ObjectDraft {
  readonly type: string | null;
  readonly fields: Readonly<Record<string, Draft>>;
}

/** A field whose text is not a value: the message stands next to it. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

type Label = (value: unknown) => string;

/** The input that a form shows for a value. If the value is missing (`undefined`), it is the default of the field. */
export function draftOf(field: Field, value: unknown, label: Label): Draft {
  if (value === undefined) return emptyDraft(field, label);
  if (value === null) return field.kind === 'json' ? '' : null;
  switch (field.kind) {
    case 'boolean':
      return value === true;
    case 'reference':
      return referenceDraft(field.targets, value, label);
    case 'object':
      return objectDraft(field, value as Readonly<Record<string, unknown>>, label);
    case 'list':
      return Array.isArray(value) ? value.map((item) => draftOf(field.item, item, label)) : [];
    case 'json':
      return JSON.stringify(value, null, 2);
    case 'choice':
      return JSON.stringify(value);
    default:
      return String(value);
  }
}

/** The draft of a field that was not touched yet. */
export function emptyDraft(field: Field, label: Label): Draft {
  if (field.default !== undefined && field.default !== null) return draftOf(field, field.default, label);
  if (field.kind === 'boolean') return field.nullable || !field.required ? null : false;
  if (field.kind === 'object') return field.required && !field.nullable ? objectDraft(field, {}, label) : null;
  if (field.kind === 'list') return [];
  if (field.kind === 'json') return '';
  return null;
}

function objectDraft(field: FieldOf<'object'>, value: Readonly<Record<string, unknown>>, label: Label): ObjectDraft {
  const named = field.typeKey === null ? undefined : value[field.typeKey];
  const variant = variantOf(field, named === undefined ? null : String(named));
  return {
    type: variant.type,
    fields: Object.fromEntries(variant.fields.map((each) => [each.name, draftOf(each, value[each.name], label)])),
  };
}

/** The class of an object that a draft is of. */
export function variantOf(field: FieldOf<'object'>, type: string | null): Variant {
  return (field.variants.find((each) => each.type === type) ?? field.variants[0]) as Variant;
}

function referenceDraft(targets: readonly ReferenceTarget[], value: unknown, label: Label): ReferenceDraft | null {
  const row = value as Readonly<Record<string, unknown>>;
  const target = targets.find(({ types }) => types.includes(String(row.type))) ?? targets[0];
  const id = target ? idIn(row, target.parts) : null;
  if (!target || id === null) return null;
  const type = target.typed ? String(row.type ?? target.types[0]) : null;
  return { model: target.model, type, id, label: label(row) };
}

/** The value of a draft. Faults are collected; `undefined` means that the field is left out of the body. */
export function draftValue(field: Field, draft: Draft, path: string, faults: Fault[]): unknown {
  if (field.kind === 'constant') return field.value;
  if (field.kind === 'list') {
    if (draft === null && field.nullable) return null;
    const items = Array.isArray(draft) ? draft : [];
    return items.map((item, index) => draftValue(field.item, item, `${path}[${index}]`, faults));
  }
  if (field.kind === 'json') return jsonOf(field, draft, path, faults);
  if (draft === null || (draft === '' && !isText(field))) return missing(field);
  if (field.kind === 'reference') {
    const { id, model, type } = draft as ReferenceDraft;
    const key = field.targets.find((target) => target.model === model)?.key ?? 'id';
    return { ...(type !== null && { type }), [key]: id };
  }
  if (field.kind === 'object') return objectValue(field, draft as ObjectDraft, path, faults);
  if (field.kind === 'boolean') return draft === true;
  return scalarOf(field, String(draft), path, faults);
}

/** A field without a value is left out if it cannot be null, so that the server names what is missing. */
function missing({ nullable }: Field): unknown {
  return nullable ? null : undefined;
}

function isText({ kind }: Field): boolean {
  return kind === 'text' || kind === 'long-text';
}

export function objectValue(
  field: FieldOf<'object'>,
  draft: ObjectDraft,
  path: string,
  faults: Fault[],
): Record<string, unknown> {
  const variant = variantOf(field, draft.type);
  const entries = variant.fields.map((each) => {
    const own = draft.fields[each.name] ?? null;
    return [each.name, draftValue(each, own, path === '' ? each.name : `${path}.${each.name}`, faults)] as const;
  });
  return {
    ...(field.typeKey !== null && { [field.typeKey]: variant.type }),
    ...Object.fromEntries(entries.filter(([, value]) => value !== undefined)),
  };
}

function jsonOf(field: Field, draft: Draft, path: string, faults: Fault[]): unknown {
  if (typeof draft !== 'string' || draft.trim() === '') return missing(field);
  try {
    return JSON.parse(draft) as unknown;
  } catch {
    faults.push({ path, message: 'This is not JSON: check brackets, quotes and commas.' });
    return undefined;
  }
}

function scalarOf(field: Field, text: string, path: string, faults: Fault[]): unknown {
  const fail = (message: string) => {
    faults.push({ path, message });
    return undefined;
  };
  const trimmed = text.trim();
  switch (field.kind) {
    case 'integer':
      return /^-?\d+$/.test(trimmed) ? Number(trimmed) : fail('Enter a whole number.');
    case 'number':
      return trimmed !== '' && Number.isFinite(Number(trimmed)) ? Number(trimmed) : fail('Enter a number.');
    case 'big-integer': {
      if (!/^-?\d+$/.test(trimmed)) return fail('Enter a whole number.');
      return Number.isSafeInteger(Number(trimmed)) ? Number(trimmed) : trimmed;
    }
    case 'choice':
      return JSON.parse(text) as unknown;
    case 'date-time': {
      // a value that was not edited keeps its milliseconds
      if (isIso.test(text)) return text;
      const time = new Date(text);
      return Number.isNaN(time.getTime()) ? fail('Enter a date and a time.') : time.toISOString();
    }
    case 'time':
      return trimmed.length === 5 ? `${trimmed}:00` : trimmed;
    case 'text':
    case 'long-text':
      return text;
    default:
      return trimmed;
  }
}

const isIso = /(?:Z|[+-]\d\d:\d\d)$/;

/** A time as a field for local times shows it: `2026-11-15T14:45:00`. What was typed there stays. */
export function localTime(iso: string): string {
  if (!isIso.test(iso)) return iso;
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return iso;
  const two = (value: number) => String(value).padStart(2, '0');
  const date = `${String(time.getFullYear()).padStart(4, '0')}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${date}T${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}
