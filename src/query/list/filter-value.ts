import type { EntityProperty } from '@mikro-orm/core';
import { type FilterOperator, operatorsSuiting } from '../../declaration/filter-operators.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { columnKinds } from '../../dialect/value-kind.ts';
import type { ValueKind } from '../../model/value-kind.ts';
import { fromJson, jsonOfText } from '../../serialization/kind-conversions.ts';
import { seekValueCheck } from '../rows/seek/seek-plan.ts';

/** A value of a request as the driver takes it, or what it should have been. */
export type ReadValue = { readonly value: unknown } | { readonly expected: string };

/** Reads the text of a parameter as a value of a column. */
export type ValueReader = (text: string) => ReadValue;

/** The operators that work on a column. */
export function operatorsFor(kind: ValueKind, property: EntityProperty, dialect: Dialect): readonly FilterOperator[] {
  // values that only MikroORM can read cannot be compared in SQL
  const isComparable = seekValueCheck(kind, property, dialect) !== null && !property.hasConvertToJSValueSQL;
  const isFilterable = isComparable && !isDateOfMapper(kind, property, dialect);
  return operatorsSuiting(isFilterable ? columnKinds[kind.kind].filtering : 'none');
}

/** Whether MikroORM stores a date as a number, while other dates are text. */
function isDateOfMapper({ kind }: ValueKind, property: EntityProperty, { values }: Dialect): boolean {
  return kind === 'date' && values.datesAsNumbers && property.customType?.constructor.name !== 'DateType';
}

/** The kind of the values of a column, in words for a message. */
export function kindName({ kind }: ValueKind): string {
  return columnKinds[kind].words;
}

/** Makes the reader of values for a column, which rejects values that the column cannot hold. */
export function valueReader(kind: ValueKind, { values }: Dialect): ValueReader {
  // a filter may be more precise than the model stores times: others may have stored more digits
  const parse = fromJson(kind.kind === 'datetime' ? { ...kind, digits: 3 } : kind);
  const isAsGiven = kind.kind === 'real' && !values.singleReals;
  return (text) => {
    const json = jsonOfText(kind, text);
    const parsed = parse(json === undefined ? null : json);
    if ('refused' in parsed) return { expected: parsed.refused.title };
    return { value: values.comparable(isAsGiven ? json : parsed.value, kind) };
  };
}

/** Escapes `%`, `_` and the backslash for a pattern of `like`. */
export function patternOf(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
