import { chosenOf, type FieldChoice } from '../../model/field-choice.ts';
import type { RowFormat } from '../../serialization/kind-conversions.ts';
import {
  compilePacedRowWriter,
  compileRowWriter,
  type PacedRowWriter,
  type RowField,
  type RowObject,
  type RowWriter,
} from '../../serialization/row-writer.ts';
import type { RowPlan } from './row-plan.ts';

/** The fields that are shown of the rows of a plan, all or a choice of them, and their writers. */
export interface ShownRows {
  readonly object: RowObject;
  readonly writer: RowWriter;
  /** By the number of the to-many association. Those that are not wanted write nothing. */
  readonly manyWriters: readonly RowWriter[];
  /** The same writers with pauses for long lists. Compiled when they are first needed. */
  paced(): PacedWriters;
  /** Whether the rows of a to-many association are wanted. */
  isWanted(source: number): boolean;
}

/** Null for rows that have no lists. */
export interface PacedWriters {
  readonly writer: PacedRowWriter | null;
  readonly manyWriters: readonly (PacedRowWriter | null)[];
}

/** Makes the writers of all fields of a plan, or of a choice of them from the same columns. `shown` is what the root shows. */
export function showRows(
  { many, root }: RowPlan,
  choice: FieldChoice | null,
  format: RowFormat,
  shown: RowObject = root.object,
): ShownRows {
  /** The chosen fields of each to-many association; null: all of them. */
  const wanted = new Map<number, FieldChoice | null>();
  const object = chosenObject(shown, choice, wanted);
  // a to-many association comes after the one that it is part of, which decides whether it is wanted
  const manyObjects = many.map((selection, source) => {
    const inner = wanted.get(source);
    return inner === undefined ? null : chosenObject(selection.object, inner, wanted);
  });
  let paced: PacedWriters | null = null;
  return {
    object,
    writer: compileRowWriter(object, format),
    manyWriters: manyObjects.map((each) => (each ? compileRowWriter(each, format) : () => '')),
    paced: () => {
      paced ??= {
        writer: compilePacedRowWriter(object, format),
        manyWriters: manyObjects.map((each) => each && compilePacedRowWriter(each, format)),
      };
      return paced;
    },
    isWanted: (source) => wanted.has(source),
  };
}

function chosenObject(object: RowObject, choice: FieldChoice | null, wanted: Map<number, FieldChoice | null>): RowObject {
  const variants = object.variants.map((variant) => {
    const fields = variant.fields.flatMap((field) => chosenField(field, choice, wanted));
    const { instance, ...rest } = variant;
    const isMade = instance && fields.some(({ kind }) => kind === 'computed');
    // code of the model may read any item that is shown without a choice
    if (isMade) for (const source of sourcesIn(variant.fields)) if (!wanted.has(source)) wanted.set(source, null);
    return { ...rest, fields, ...(isMade && { instance }) };
  });
  return { ...object, variants };
}

/** The to-many associations among fields, and within their to-one associations. */
function sourcesIn(fields: readonly RowField[]): number[] {
  return fields.flatMap((field) => {
    if (field.kind === 'to-many') return [field.source];
    if (field.kind !== 'to-one') return [];
    return field.objects.flatMap(({ variants }) => variants.flatMap(({ fields: inner }) => sourcesIn(inner)));
  });
}

function chosenField(field: RowField, choice: FieldChoice | null, wanted: Map<number, FieldChoice | null>): RowField[] {
  const inner = choice === null ? null : choice.get(field.name);
  if (inner === undefined) return [];
  switch (field.kind) {
    case 'to-many':
      // classes that share the association may name it differently; if their choices differ, all fields are written
      wanted.set(field.source, wanted.has(field.source) && wanted.get(field.source) !== inner ? null : inner);
      return [field];
    case 'to-one':
      return [{ ...field, objects: field.objects.map((object) => chosenObject(object, inner, wanted)) }];
    case 'embedded':
      return [{ ...field, fields: field.fields.flatMap((part) => chosenField(part, inner, wanted)) }];
    case 'computed': {
      const { read } = field;
      return inner ? [{ ...field, read: (entity, seen) => chosenOf(read(entity, seen), inner) }] : [field];
    }
    default: {
      // an embeddable that is stored as JSON is one value
      const { convert } = field;
      return inner && convert ? [{ ...field, convert: (given) => chosenOf(convert(given), inner) }] : [field];
    }
  }
}
