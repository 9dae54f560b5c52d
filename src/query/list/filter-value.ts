import type { EntityProperty } from '@mikro-orm/core';
import { type FilterOperator, operatorsSuiting } from '../../declaration/filter-operators.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { columnKinds } from '../../dialect/value-kind.ts';
import type { ValueKind } from '../../model/value-kind.ts';
import { fromJson, jsonOfText } from '../../serialization/kind-conversions.ts';
import { seekValueCheck } from '../rows/seek-plan.ts';

/** What a value of a request became: what the driver takes, or what it should have been. */
export type ReadValue = { readonly value: unknown } | { readonly expected: string };

/** Reads the text of a parameter as a value of a column. */
export type ValueReader = (text: string) => ReadValue;

/** The operators that make sense of what a column holds. */
export function operatorsFor(kind: ValueKind, property: EntityProperty, dialect: Dialect): readonly FilterOperator[] {
  // what only the mapper reads can be compared by nobody else
  const isComparable = seekValueCheck(kind, property, dialect) !== null && !property.hasConvertToJSValueSQL;
  const isAsked = isComparable && !isDateOfMapper(kind, property, dialect);
  return operatorsSuiting(isAsked ? columnKinds[kind.kind].filtering : 'none');
}

/** A day that stands as a number among others that are text. */
function isDateOfMapper({ kind }: ValueKind, property: EntityProperty, { values }: Dialect): boolean {
  return kind === 'date' && values.datesAsNumbers && property.customType?.constructor.name !== 'DateType';
}

/** What a column holds, in words for a message. */
export function kindName({ kind }: ValueKind): string {
  return columnKinds[kind].words;
}

/** Makes the reader of values of a column, which takes what the column can hold and nothing else. */
export function valueReader(kind: ValueKind, { values }: Dialect): ValueReader {
  // what is compared need not be as coarse as what is kept, and others may have kept it less coarse
  const parse = fromJson(kind.kind === 'datetime' ? { ...kind, digits: 3 } : kind);
  const isAsGiven = kind.kind === 'real' && !values.singleReals;
  return (text) => {
    const json = jsonOfText(kind, text);
    const parsed = parse(json === undefined ? null : json);
    if ('refused' in parsed) return { expected: parsed.refused.title };
    return { value: values.comparable(isAsGiven ? json : parsed.value, kind) };
  };
}

/** A text as it stands in a pattern of `like`, where `%`, `_` and the backslash would mean more than themselves. */
export function patternOf(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
