import type { TableName } from '../../../database/schema/catalogue.ts';

/** Selects the tables and their columns as one JSON text. Names without a schema are resolved as in other statements. */
export function postgresCatalogue(tables: readonly TableName[]): string {
  const names = tables.map(({ name, schema }) => `(${schema === null ? 'null::text' : quoted(schema)}, ${quoted(name)})`);
  if (names.length === 0) return `select '[]' as catalogue`;
  return `with recursive wanted(schema, name) as (values ${names.join(', ')}),
behind(domain, type, modifier, required, has_default) as (
  select oid, typbasetype, typtypmod, typnotnull, typdefault is not null from pg_catalog.pg_type where typtype = 'd'
  union all
  select b.domain, t.typbasetype, t.typtypmod, b.required or t.typnotnull, b.has_default or t.typdefault is not null
  from behind b join pg_catalog.pg_type t on t.oid = b.type and t.typtype = 'd'
)
select coalesce(json_agg(json_build_object(
  'schema', w.schema, 'name', w.name, 'isView', c.relkind in ('v', 'm'), 'columns', coalesce(k.columns, '[]')
))::text, '[]') as catalogue
from wanted w
join pg_catalog.pg_class c on c.relname = w.name and c.relkind in ('r', 'p', 'v', 'm', 'f')
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
left join lateral (
  select json_agg(json_build_object(
    'name', a.attname,
    'type', format_type(a.atttypid, a.atttypmod),
    'base', format_type(coalesce(b.type, a.atttypid), coalesce(b.modifier, a.atttypmod)),
    'isRequired', a.attnotnull or coalesce(b.required, false),
    'hasDefault', (a.atthasdef and a.attgenerated = '') or coalesce(b.has_default, false),
    'isGenerated', a.attgenerated <> '',
    'isNumbered', a.attidentity <> '',
    'labels', (select json_agg(enumlabel) from pg_catalog.pg_enum where enumtypid = coalesce(b.type, a.atttypid)),
    'checks', coalesce((select json_agg(pg_get_constraintdef(oid)) from pg_catalog.pg_constraint
      where conrelid = c.oid and contype = 'c' and conkey = array[a.attnum]), '[]')
  )) as columns
  from pg_catalog.pg_attribute a
  left join behind b on b.domain = a.atttypid and not exists (select 1 from pg_catalog.pg_type where oid = b.type and typtype = 'd')
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
) k on true
where case when w.schema is null then pg_table_is_visible(c.oid) else n.nspname = w.schema end`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
