import type { InventoryForeignKey } from '../../../database/schema/inventory.ts';

/** A table or view, as {@link selectInventory} returns it. */
export interface StoredTable {
  readonly schema: string;
  readonly name: string;
  /** The query of a view; null for a table. */
  readonly view: string | null;
  readonly isVisible: boolean;
  readonly isReadable: boolean;
  readonly partitionOf: string | null;
  readonly extension: string | null;
  readonly comment: string | null;
  readonly columns: readonly StoredColumn[];
  readonly primaryKey: readonly string[];
  readonly foreignKeys: readonly (Omit<InventoryForeignKey, 'target' | 'deferred'> & {
    readonly targetSchema: string;
    readonly targetName: string;
    readonly targetVisible: boolean;
    readonly deferrable: boolean;
    readonly deferred: boolean;
  })[];
  readonly indexes: readonly {
    readonly name: string;
    readonly isUnique: boolean;
    readonly isConstraint: boolean;
    readonly columns: readonly string[];
    readonly quoted: readonly string[];
    readonly definition: string;
  }[];
  readonly checks: readonly { readonly name: string; readonly columns: readonly string[] | null; readonly expression: string }[];
}

export interface StoredColumn {
  readonly name: string;
  readonly type: string;
  /** The type behind a domain; the same type if there is none. */
  readonly base: string;
  /** `typname` of the base. */
  readonly typeName: string;
  /** `typtype` of the base. */
  readonly typeKind: string;
  /** `typname` of the items of a list. */
  readonly element: string | null;
  readonly dimensions: number;
  /** The values of an enum, or of a list of enums. */
  readonly labels: readonly string[] | null;
  readonly enumName: string | null;
  readonly enumSchema: string | null;
  readonly isRequired: boolean;
  /** The default, or the expression of a generated column. */
  readonly defaultSql: string | null;
  readonly generated: '' | 's' | 'v';
  readonly identity: string;
  readonly comment: string | null;
}

const columnNames = (keys: string, relation: string) =>
  `(select json_agg(o.attname order by w.position) from unnest(${keys}) with ordinality as w(number, position)
    join pg_catalog.pg_attribute o on o.attrelid = ${relation} and o.attnum = w.number)`;

const rule = (column: string) =>
  `case ${column} when 'c' then 'cascade' when 'n' then 'set null' when 'd' then 'set default' when 'r' then 'restrict' else 'no action' end`;

const columns = `select json_agg(json_build_object(
    'name', a.attname,
    'type', format_type(a.atttypid, a.atttypmod),
    'base', format_type(t.oid, coalesce(b.modifier, a.atttypmod)),
    'typeName', t.typname,
    'typeKind', t.typtype,
    'element', i.typname,
    'dimensions', a.attndims,
    'labels', (select json_agg(enumlabel order by enumsortorder) from pg_catalog.pg_enum where enumtypid = e.oid),
    'enumName', e.typname,
    'enumSchema', en.nspname,
    'isRequired', a.attnotnull or coalesce(b.required, false),
    'defaultSql', coalesce(pg_get_expr(d.adbin, d.adrelid), b.default_sql),
    'generated', a.attgenerated,
    'identity', a.attidentity,
    'comment', col_description(c.oid, a.attnum)
  ) order by a.attnum)
  from pg_catalog.pg_attribute a
  left join behind b on b.domain = a.atttypid and not exists (select 1 from pg_catalog.pg_type where oid = b.type and typtype = 'd')
  join pg_catalog.pg_type t on t.oid = coalesce(b.type, a.atttypid)
  left join pg_catalog.pg_type i on i.oid = t.typelem and t.typcategory = 'A'
  left join pg_catalog.pg_type e on e.oid = coalesce(i.oid, t.oid) and e.typtype = 'e'
  left join pg_catalog.pg_namespace en on en.oid = e.typnamespace
  left join pg_catalog.pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped`;

const foreignKeys = `select json_agg(json_build_object(
    'name', f.conname,
    'columns', ${columnNames('f.conkey', 'f.conrelid')},
    'targetSchema', tn.nspname,
    'targetName', tc.relname,
    'targetVisible', pg_table_is_visible(tc.oid),
    'targetColumns', ${columnNames('f.confkey', 'f.confrelid')},
    'onDelete', ${rule('f.confdeltype')},
    'onUpdate', ${rule('f.confupdtype')},
    'deferrable', f.condeferrable,
    'deferred', f.condeferred
  ) order by f.conname)
  from pg_catalog.pg_constraint f
  join pg_catalog.pg_class tc on tc.oid = f.confrelid
  join pg_catalog.pg_namespace tn on tn.oid = tc.relnamespace
  where f.conrelid = c.oid and f.contype = 'f' and f.conparentid = 0`;

const indexes = `select json_agg(json_build_object(
    'name', ic.relname,
    'isUnique', x.indisunique,
    'isConstraint', exists (select 1 from pg_catalog.pg_constraint u where u.conindid = x.indexrelid and u.contype = 'u'),
    'columns', coalesce(${columnNames('x.indkey::int2[]', 'x.indrelid')}, '[]'),
    'quoted', coalesce((select json_agg(quote_ident(o.attname) order by w.position) from unnest(x.indkey::int2[]) with ordinality as w(number, position)
      join pg_catalog.pg_attribute o on o.attrelid = x.indrelid and o.attnum = w.number), '[]'),
    'definition', pg_get_indexdef(x.indexrelid)
  ) order by ic.relname)
  from pg_catalog.pg_index x
  join pg_catalog.pg_class ic on ic.oid = x.indexrelid
  where x.indrelid = c.oid and not x.indisprimary and x.indisvalid
  and not exists (select 1 from pg_catalog.pg_constraint u where u.conindid = x.indexrelid and u.contype = 'x')`;

const checks = `select json_agg(json_build_object(
    'name', k.conname,
    'columns', ${columnNames('k.conkey', 'k.conrelid')},
    'expression', pg_get_expr(k.conbin, k.conrelid)
  ) order by k.conname)
  from pg_catalog.pg_constraint k
  where k.conrelid = c.oid and k.contype = 'c'`;

/** Selects all tables and views outside of system schemas as one JSON text. */
export const selectInventory = `with recursive behind(domain, type, modifier, required, default_sql) as (
  select oid, typbasetype, typtypmod, typnotnull, typdefault from pg_catalog.pg_type where typtype = 'd'
  union all
  select b.domain, t.typbasetype, t.typtypmod, b.required or t.typnotnull, coalesce(b.default_sql, t.typdefault)
  from behind b join pg_catalog.pg_type t on t.oid = b.type and t.typtype = 'd'
)
select coalesce(json_agg(json_build_object(
  'schema', n.nspname,
  'name', c.relname,
  'view', case when c.relkind in ('v', 'm') then rtrim(pg_get_viewdef(c.oid), ';') end,
  'isVisible', pg_table_is_visible(c.oid),
  'isReadable', has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select'),
  'partitionOf', (select format('%I', pc.relname) from pg_catalog.pg_inherits h join pg_catalog.pg_class pc on pc.oid = h.inhparent
    where h.inhrelid = c.oid and c.relispartition),
  'extension', (select x.extname from pg_catalog.pg_depend d join pg_catalog.pg_extension x on x.oid = d.refobjid
    where d.classid = 'pg_catalog.pg_class'::regclass and d.objid = c.oid and d.deptype = 'e' limit 1),
  'comment', obj_description(c.oid, 'pg_class'),
  'columns', coalesce((${columns}), '[]'),
  'primaryKey', coalesce((select ${columnNames('p.conkey', 'p.conrelid')} from pg_catalog.pg_constraint p
    where p.conrelid = c.oid and p.contype = 'p'), '[]'),
  'foreignKeys', coalesce((${foreignKeys}), '[]'),
  'indexes', coalesce((${indexes}), '[]'),
  'checks', coalesce((${checks}), '[]')
) order by n.nspname, c.relname)::text, '[]') as inventory
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't'
and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'`;
