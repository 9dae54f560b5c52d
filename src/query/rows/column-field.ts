import { ArrayType, DateType, type EntityMetadata, type EntityProperty } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import { dialectOf } from '../../dialect/dialect.ts';
import type { ScalarField } from '../../model/field-plan.ts';
import type { ValueKind } from '../../model/value-kind.ts';
import { toJson } from '../../serialization/kind-conversions.ts';
import type { RowField } from '../../serialization/row-writer.ts';
import { NotCompilable } from './association.ts';
import { columnReader, NoInstance } from './instance.ts';
import { columnOf, quoted } from './table-name.ts';

/** Collects the columns that one statement selects. */
export interface SelectedColumns {
  readonly mapper: Mapper;
  /** Adds a column in SQL and returns its position. */
  add(sql: string): number;
}

/** Plans a scalar field from the column of the table under an alias. */
export function scalarField(selected: SelectedColumns, field: ScalarField, meta: EntityMetadata, alias: string): RowField {
  const { metadata: property } = field;
  if (property.formula) return formulaField(selected, field, meta, alias);
  if (property.fieldNames?.length !== 1) throw new NotCompilable(`${meta.className}.${field.property} is not a single column`);
  return columnField(selected, field, property, `${alias}.${columnOf(selected.mapper, property)}`);
}

/** The parts of MikroORM's SQL driver that write formulas. */
interface FormulaDriver {
  createFormulaTable(alias: string, meta: EntityMetadata): unknown;
  evaluateFormula(formula: unknown, columns: unknown, table: unknown): string;
}

/** Plans a field that the database computes. If values are read as text, their type is unknown, so only texts are possible. */
function formulaField(selected: SelectedColumns, field: ScalarField, meta: EntityMetadata, alias: string): RowField {
  const { mapper } = selected;
  const { metadata: property, value } = field;
  if (dialectOf(mapper).values.readsText && value.kind !== 'string')
    throw new NotCompilable(
      `${meta.className}.${String(property.name)} is computed by the database, in a type of its own choice`,
    );
  const driver = mapper.driver as unknown as FormulaDriver;
  const table = driver.createFormulaTable(quoted(mapper, alias), meta);
  return columnField(
    selected,
    field,
    property,
    driver.evaluateFormula(property.formula, meta.createColumnMappingObject(alias), table),
  );
}

/** Plans the field of a column; `property` is the one that the column was declared with. */
export function columnField(
  selected: SelectedColumns,
  { name, value }: Pick<ScalarField, 'name' | 'value'>,
  property: EntityProperty,
  sql: string,
): RowField {
  const { sql: syntax, values } = dialectOf(selected.mapper);
  if (value.kind === 'any' || property.hasConvertToJSValueSQL)
    throw new NotCompilable(`${String(property.name)} has a type that only MikroORM converts`);
  if (values.readsText && !property.formula && value.kind !== 'custom') refuseOtherColumn(value, property);
  if (isReadByType(value, property)) {
    const { read, sql: column } = readerOf(selected.mapper, property, sql);
    const write = toJson(value);
    const convert = read ? (given: unknown) => write(read(given)) : write;
    return { kind: 'value', name, column: selected.add(column), value, convert };
  }
  const column = value.kind === 'datetime' ? syntax.timeColumn(sql, columnType(property)) : sql;
  return { kind: 'value', name, column: selected.add(column), value };
}

/** Whether the type of a property must convert a value before it is written as JSON. */
function isReadByType({ kind }: ValueKind, { customType }: EntityProperty): boolean {
  if (customType instanceof ArrayType || kind === 'custom' || kind === 'decimal' || kind === 'interval') return true;
  return kind === 'date' && !(customType instanceof DateType);
}

function readerOf(mapper: Mapper, property: EntityProperty, sql: string): ReturnType<typeof columnReader> {
  try {
    return columnReader(mapper, property, sql);
  } catch (error) {
    throw error instanceof NoInstance ? new NotCompilable(error.message) : error;
  }
}

function columnType(property: EntityProperty): string {
  return String(property.columnTypes?.[0] ?? '').toLowerCase();
}

/** Column types for which PostgreSQL's driver returns values of the property's kind. */
const ownColumns: Partial<Record<ValueKind['kind'], RegExp>> = {
  integer: /^(int|integer|int4|int2|smallint|serial|smallserial)$/,
  bigint: /^(bigint|int8|bigserial)$/,
  float: /^(double precision|float8|double|float|real|float4)/,
  real: /^(double precision|float8|double|float|real|float4)/,
  decimal: /^(numeric|decimal)/,
  boolean: /^bool/,
  blob: /^bytea/,
  json: /^jsonb?$/,
  date: /^date$/,
  datetime: /^timestamp/,
  interval: /^interval/,
};

const listColumn = /^(text|varchar|character varying)(\(\d+\))?\[\]$/;

/** Column types whose values PostgreSQL's driver does not return as text. */
const notText = /^(bool|int|integer|smallint|serial|bigserial|oid|real|float|double|json|bytea|point|circle|interval)|\[\]$/;

function refuseOtherColumn(value: ValueKind, property: EntityProperty): void {
  const type = columnType(property);
  const numbers = value.kind === 'enum' && value.items.some((item) => typeof item === 'number');
  const isList = property.customType instanceof ArrayType;
  const expected = isList ? listColumn : numbers ? ownColumns.integer : ownColumns[value.kind];
  if (!(expected ? expected.test(type) : !notText.test(type)))
    throw new NotCompilable(`${String(property.name)} has a column of the type ${type}`);
}
