import { createHash } from 'node:crypto';
import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import type { ApiDeclaration, SearchDeclaration } from '../../declaration/types.ts';
import { dialectOf, type SearchSyntax } from '../../dialect/dialect.ts';
import { type Field, type FieldPlan, planFields, targetsOf } from '../../model/field-plan.ts';
import { groupNames, groupsOfApi } from '../../model/groups.ts';
import { type ReadableField, readableField } from '../../model/readable-field.ts';
import { tableOf } from '../rows/table-name.ts';
import { type Condition, value } from './condition.ts';
import type { FilterPath } from './filter-path.ts';

/** True if every word begins a word in one of the columns. */
export function fulltextCondition(search: SearchSyntax, paths: readonly FilterPath[], words: readonly string[]): Condition {
  const document = search.document(paths.flatMap(({ own }) => (own ? [own] : [])));
  return search.holdsWords(document, words, value);
}

/** An index that a search uses. */
interface SearchIndex {
  readonly meta: EntityMetadata;
  readonly name: string;
  readonly sql: string;
}

/**
 * Adds to the models the indexes that declared searches need, from which the schema tool creates them. Returns the extensions
 * that the database needs.
 */
export function addSearchIndexes(mapper: Mapper, apis: readonly ApiDeclaration[]): readonly string[] {
  const syntax = dialectOf(mapper).sql.search;
  if (!syntax) return [];
  const extensions = new Set<string>();
  for (const api of apis) {
    const meta = mapper.getMetadata().get(api.class.value as never) as EntityMetadata;
    for (const { groups, list } of [{ list: api.list, groups: groupsOfApi(api) }, ...api.actions]) {
      if (!list?.search || list.search.using === 'like') continue;
      if (list.search.using === 'trigram') extensions.add(syntax.trigramExtension);
      for (const { meta: owner, name, sql } of indexesOf(
        mapper,
        planFields(mapper, meta, groupNames(groups.read)),
        meta,
        list.search,
        syntax,
      )) {
        const known = owner.indexes.some((index) => index.name === name);
        if (!known) owner.indexes.push({ name, expression: sql } as never);
      }
    }
  }
  return [...extensions];
}

function indexesOf(
  mapper: Mapper,
  plan: FieldPlan,
  meta: EntityMetadata,
  { fields, using }: SearchDeclaration,
  syntax: SearchSyntax,
): SearchIndex[] {
  const quote = (name: string) => mapper.driver.getPlatform().quoteIdentifier(name).toString();
  const columns = fields.map(({ field }) => columnAt(plan, meta, field.split('.')));
  const indexOf = (owner: EntityMetadata, names: readonly string[], expression: string): SearchIndex => {
    const hash = createHash('sha256')
      .update(JSON.stringify([using, names]))
      .digest('hex')
      .slice(0, 8);
    const name = `${owner.tableName.slice(0, 40)}_${using}_${hash}`;
    return { meta: owner.root, name, sql: syntax.createIndex(quote(name), tableOf(mapper, owner), expression) };
  };
  if (using === 'trigram') return columns.map(({ column, owner }) => indexOf(owner, [column], syntax.trigrams(quote(column))));
  const names = columns.map(({ column }) => column);
  const document = syntax.document(names.map((name) => [quote(name)])).join('');
  return [indexOf(meta, names, `(${document})`)];
}

/** The column of a field, and the class whose table has it. */
function columnAt(plan: FieldPlan, meta: EntityMetadata, names: readonly string[]): { owner: EntityMetadata; column: string } {
  const { fields } = readableField(plan, names.join('.')) as ReadableField;
  let owner = meta;
  let property = (fields[0] as Field).metadata;
  let isEmbedded = false;
  for (const field of fields) {
    property = isEmbedded ? (property.embeddedProps[field.property] as EntityProperty) : field.metadata;
    isEmbedded = field.kind === 'embedded';
    if (field.kind === 'to-one' || field.kind === 'to-many') owner = targetsOf(property)[0] as EntityMetadata;
  }
  return { owner, column: property.fieldNames[0] as string };
}
