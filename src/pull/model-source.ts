import { basename, dirname, relative } from 'node:path/posix';
import type { NamingStrategy } from '@mikro-orm/core';
import { type InventoryColumn, type InventoryIndex, literalOf } from '../database/schema/inventory.ts';
import type { Association, ColumnProperty, JoinTable, PlannedModel, PlannedProperty } from './plan.ts';
import { defaultSchema } from './table-key.ts';

/** Names that MikroORM chooses if a model does not. */
export type Naming = Pick<NamingStrategy, 'classToTableName' | 'propertyToColumnName' | 'joinKeyColumnName' | 'indexName'>;

/** The module of a model. */
export function modelSource(model: PlannedModel, naming: Naming): string {
  const { className, ignored, properties, table } = model;
  const indexes = indexesOf(model);
  const required = ignored.find(({ column }) => column.isRequired && !column.default && !column.generated && !column.isNumbered);
  const lines = [
    "import { defineEntity, type InferEntity, p } from '@mikro-orm/core';",
    ...importLines(model),
    '',
    ...docLines(table.comment, ''),
    `export const ${className} = defineEntity({`,
    `  name: ${literalOf(className)},`,
    ...(naming.classToTableName(className) === table.name ? [] : [`  tableName: ${literalOf(table.name)},`]),
    ...(table.schema === null ? [] : [`  schema: ${literalOf(table.schema)},`]),
    ...(table.view === null
      ? []
      : [
          `  // rows are found by ${oneLine(table.primaryKey.join())}: check that the view has each value once`,
          '  view: true,',
          `  expression: ${literalOf(table.view)},`,
        ]),
    ...(required
      ? [`  // no row can be inserted without a value for ${oneLine(required.column.name)}`, '  readonly: true,']
      : []),
    ...listOf(
      'uniques',
      indexes.filter(({ isUnique }) => isUnique).map(({ source }) => source),
    ),
    ...listOf(
      'indexes',
      indexes.filter(({ isUnique }) => !isUnique).map(({ source }) => source),
    ),
    ...listOf(
      'checks',
      table.checks.map(({ expression, name }) => objectOf({ name: name && literalOf(name), expression: literalOf(expression) })),
    ),
    '  properties: {',
    ...ignored.map(
      ({ column, reason }) => `    // pull ignores ${oneLine(column.name)} (${oneLine(column.type)}): ${oneLine(reason)}`,
    ),
    ...properties.flatMap((property) => propertyLines(property, model, naming)),
    '  },',
    '});',
    '',
    `export type ${className} = InferEntity<typeof ${className}>;`,
  ];
  return `${lines.join('\n')}\n`;
}

function importLines({ className, file, properties }: PlannedModel): string[] {
  const targets = new Map<string, string>();
  for (const property of properties)
    if (property.kind !== 'column' && property.target.file !== file)
      targets.set(property.target.exportName, modulePath(file, property.target.file));
  return [...targets]
    .filter(([name]) => name !== className)
    .sort(([, a], [, b]) => (a < b ? -1 : 1))
    .map(([name, path]) => `import { ${name} } from ${literalOf(path)};`);
}

function modulePath(from: string, to: string): string {
  const folder = relative(dirname(from), dirname(to));
  return `${folder === '' ? '.' : folder.startsWith('.') ? folder : `./${folder}`}/${basename(to)}`;
}

function listOf(name: string, items: readonly string[]): string[] {
  if (items.length === 0) return [];
  return [`  ${name}: [`, ...items.map((item) => `    ${item},`), '  ],'];
}

function objectOf(parts: Readonly<Record<string, string | null>>): string {
  const written = Object.entries(parts).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  return `{ ${written.join(', ')} }`;
}

/** Indexes that are not part of a property. */
function indexesOf(model: PlannedModel): { readonly isUnique: boolean; readonly source: string }[] {
  const { properties, table } = model;
  return table.indexes.flatMap((index) => {
    const { columns, definition, name } = index;
    if (isOfProperty(index, model)) return [];
    const named = name && literalOf(name);
    const names = namesOf(columns, properties);
    if (names === null) return [];
    // an expression is a whole statement, so a unique one needs no other place
    if (definition !== null) return [{ isUnique: false, source: objectOf({ name: named, expression: literalOf(definition) }) }];
    if (names.length === 0) return [];
    const list = `[${names.map(literalOf).join(', ')}]`;
    return [{ isUnique: index.isUnique, source: objectOf({ name: named, properties: list }) }];
  });
}

/** The properties that columns of an index belong to; null if they are not all columns of their properties, in this order. */
function namesOf(columns: readonly string[], properties: readonly PlannedProperty[]): string[] | null {
  const names: string[] = [];
  for (let at = 0; at < columns.length; ) {
    const starting = properties.filter((one) => {
      const own = columnsOf(one);
      return own.length > 0 && own.every((column, i) => column === columns[at + i]);
    });
    const [property] = starting.sort((one, other) => columnsOf(other).length - columnsOf(one).length);
    if (!property) return null;
    names.push(property.name);
    at += columnsOf(property).length;
  }
  return names;
}

function columnsOf(property: PlannedProperty): string[] {
  if (property.kind === 'join table') return [];
  return property.kind === 'column' ? [property.column.name] : property.columns.map(({ name }) => name);
}

/** Whether an index is written with its property: the first one of each kind on all of its columns. */
function isOfProperty(index: InventoryIndex, { properties, table }: PlannedModel): boolean {
  const isItsProperty = (property: PlannedProperty) =>
    property.kind !== 'join table' && index === simpleIndex(columnsOf(property), index.isUnique, table.indexes);
  return properties.some(isItsProperty);
}

function simpleIndex(own: readonly string[], isUnique: boolean, indexes: readonly InventoryIndex[]): InventoryIndex | undefined {
  return indexes.find(
    ({ columns, definition, isUnique: other }) =>
      definition === null &&
      other === isUnique &&
      columns.length === own.length &&
      own.every((column, i) => column === columns[i]),
  );
}

function propertyLines(property: PlannedProperty, model: PlannedModel, naming: Naming): string[] {
  const notes = property.kind === 'column' ? [...property.notes, ...(property.mapping.note ? [property.mapping.note] : [])] : [];
  return [
    ...(property.kind === 'join table' ? [] : docLines(commentOf(property), '    ')),
    ...notes.map((note) => `    // ${oneLine(note)}`),
    `    ${property.name}: ${propertySource(property, model, naming)},`,
  ];
}

function commentOf(property: ColumnProperty | Association): string | null {
  if (property.kind === 'column') return property.column.comment;
  const comments = property.own.flatMap(({ comment }) => comment ?? []);
  return comments.length > 0 ? comments.join('\n') : null;
}

/** The value of a property in the module of its model. */
export function propertySource(property: PlannedProperty, model: Pick<PlannedModel, 'table'>, naming: Naming): string {
  if (property.kind === 'column') return columnSource(property, model, naming);
  return property.kind === 'association' ? associationSource(property, model, naming) : joinSource(property);
}

function columnSource({ column, mapping, name }: ColumnProperty, { table }: Pick<PlannedModel, 'table'>, naming: Naming): string {
  const isKey = table.primaryKey.includes(column.name);
  const isOnlyKey = isKey && table.primaryKey.length === 1;
  const isInteger = /^(?:smallint|integer|bigint)\(/.test(mapping.builder);
  const parts = [`p.${mapping.builder}${mapping.options}`];
  if (isKey) parts.push('.primary()');
  if (isOnlyKey && isInteger && !column.isNumbered && table.view === null) parts.push('.autoincrement(false)');
  if (!isKey && column.isNumbered && column.default === null) parts.push('.autoincrement()');
  if (naming.propertyToColumnName(name) !== column.name) parts.push(`.fieldName(${literalOf(column.name)})`);
  if (!column.isRequired) parts.push('.nullable()');
  parts.push(defaultSource(column, isKey ? null : mapping.literal, isOnlyKey));
  if (column.generated !== null) parts.push(`.generated(${literalOf(column.generated)})`);
  return `${parts.join('')}${indexSource([column.name], table.indexes)}`;
}

function defaultSource(
  { default: given, isNumbered }: InventoryColumn,
  literal: 'text' | 'number' | 'boolean' | null,
  isOnlyKey: boolean,
): string {
  if (given === null || (isOnlyKey && isNumbered)) return '';
  const { sql, value } = given;
  if (value !== undefined && literal === 'text') return `.default(${literalOf(value)})`;
  if (value !== undefined && literal === 'number' && Number.isSafeInteger(Number(value)) && value.trim() !== '')
    return `.default(${Number(value)})`;
  if (value !== undefined && literal === 'boolean' && /^(?:true|false|t|f|0|1)$/i.test(value))
    return `.default(${/^[t1]/i.test(value)})`;
  return `.defaultRaw(${literalOf(sql)})`;
}

function indexSource(columns: readonly string[], indexes: readonly InventoryIndex[]): string {
  const named = (index: InventoryIndex) => (index.name === null ? '' : literalOf(index.name));
  const unique = simpleIndex(columns, true, indexes);
  const plain = simpleIndex(columns, false, indexes);
  return `${unique ? `.unique(${named(unique)})` : ''}${plain ? `.index(${named(plain)})` : ''}`;
}

function associationSource(property: Association, { table }: Pick<PlannedModel, 'table'>, naming: Naming): string {
  const { key, name, own, target } = property;
  const [column] = own as [InventoryColumn];
  const names = columnsOf(property);
  const isKey = names.every((each) => table.primaryKey.includes(each));
  const isOnlyKey = isKey && table.primaryKey.length === names.length;
  const isUnique = isOnlyKey || simpleIndex(names, true, table.indexes) !== undefined;
  const parts = [`() => p.${isUnique ? 'oneToOne' : 'manyToOne'}(${target.exportName})`];
  if (isKey) parts.push('.primary()');
  if (names.length > 1) parts.push(`.joinColumns(${names.map(literalOf).join(', ')})`);
  else if (naming.joinKeyColumnName(name, key.targetColumns[0]) !== column.name)
    parts.push(`.joinColumn(${literalOf(column.name)})`);
  if (!column.isRequired) parts.push('.nullable()');
  parts.push(defaultSource(column, null, false));
  if (column.generated !== null) parts.push(`.generated(${literalOf(column.generated)})`);
  // MikroORM would clear nullable associations, and cascade those that are keys
  if (key.onDelete !== 'no action' || !column.isRequired || isKey) parts.push(`.deleteRule(${literalOf(key.onDelete)})`);
  if (key.onUpdate !== 'no action' || isKey) parts.push(`.updateRule(${literalOf(key.onUpdate)})`);
  if (key.deferred !== null) parts.push(`.deferMode(${literalOf(key.deferred)})`);
  if (key.name !== null && naming.indexName(table.name, names, 'foreign') !== key.name)
    parts.push(`.foreignKeyName(${literalOf(key.name)})`);
  return `${parts.join('')}${indexSource(names, table.indexes)}`;
}

function joinSource({ other, own, table, target }: JoinTable): string {
  // MikroORM looks for it in the schema of its owner
  const name = table.schema === own.target.schema ? table.name : `${table.schema ?? defaultSchema}.${table.name}`;
  const columns = `.joinColumn(${literalOf(own.columns[0] as string)}).inverseJoinColumn(${literalOf(other.columns[0] as string)})`;
  const rule = (rules: readonly string[], option: string) =>
    rules.every((one) => one === 'cascade') ? '' : `.${option}(${literalOf(rules.find((one) => one !== 'cascade') as string)})`;
  return (
    `() => p.manyToMany(${target.exportName}).pivotTable(${literalOf(name)})${columns}` +
    rule([own.onDelete, other.onDelete], 'deleteRule') +
    rule([own.onUpdate, other.onUpdate], 'updateRule')
  );
}

/** A comment of the database as a doc comment. */
function docLines(comment: string | null, indent: string): string[] {
  const lines = (comment ?? '')
    .replaceAll('*/', '*\\/')
    .split(/\r?\n|\r|\u2028|\u2029/)
    .map((line) => line.trim());
  if (lines.every((line) => line === '')) return [];
  if (lines.length === 1) return [`${indent}/** ${lines[0]} */`];
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
}

/** A text that cannot leave the comment that it is in. */
function oneLine(text: string): string {
  return text.replace(/[\r\n\u2028\u2029]+/g, ' ');
}
