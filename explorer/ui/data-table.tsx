import { type Column, isNumeric, wordsOf } from '../model/columns.ts';
import type { Api } from '../model/document.ts';
import { idIn, keyFields } from '../model/key.ts';
import { placeholderQuery, type View } from '../model/location.ts';
import { modelsOf } from '../model/schema.ts';
import { useApp } from './context.ts';
import { Link, Scroll } from './parts.tsx';
import { hasEntityView, Value } from './value.tsx';

type Row = Readonly<Record<string, unknown>>;

interface DataTableProps {
  readonly api: Api;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly caption: string;
  readonly query: string;
  /** The order of the list, as `-lastName,birthdate`; null if it cannot be sorted here. */
  readonly sort: string | null;
  readonly onSort?: (sort: string) => void;
  readonly isLoading?: boolean;
}

export function DataTable({ api, columns, rows, caption, query, sort, onSort, isLoading = false }: DataTableProps) {
  const { catalogue } = useApp();
  const order = sort?.split(',')[0] ?? '';
  const numeric = new Set(columns.filter(({ schema }) => isNumeric(catalogue.schemas, schema)).map(({ name }) => name));
  // an association is a link itself
  const plain = columns.findIndex(({ schema }) => modelsOf(catalogue.schemas, schema).length === 0);
  const opener = Math.max(plain, 0);
  return (
    <Scroll label={caption} class={isLoading ? 'table-box loading-rows' : 'table-box'} busy={isLoading}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name, sort: field }) => (
              <th key={name} scope="col" class={numeric.has(name) ? 'number' : undefined} aria-sort={sortState(order, field)}>
                {field !== null && onSort ? (
                  <button type="button" class="sort" onClick={() => onSort(order === field ? `-${field}` : field)}>
                    {wordsOf(name)}
                    <span aria-hidden="true">{order === field ? ' ↑' : order === `-${field}` ? ' ↓' : ''}</span>
                  </button>
                ) : (
                  wordsOf(name)
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={String(idIn(row, api.key) ?? index)}>
              {columns.map(({ name, schema }, position) => (
                <td key={name} class={numeric.has(name) ? 'number' : undefined}>
                  <Cell api={api} row={row} query={query} isFirst={position === opener} isLink={plain === -1}>
                    <Value schema={schema} value={row[name]} compact isKey={keyFields(api.key).includes(name)} />
                  </Cell>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function sortState(order: string, field: string | null) {
  if (field === null) return undefined;
  return order === field ? 'ascending' : order === `-${field}` ? 'descending' : undefined;
}

interface CellProps {
  readonly api: Api;
  readonly row: Row;
  readonly query: string;
  readonly isFirst: boolean;
  /** The value is a link to another row. */
  readonly isLink: boolean;
  readonly children: preact.ComponentChild;
}

/** The first cell of a row that has no link of its own links to the page of the row. */
function Cell({ api, row, query, isFirst, isLink, children }: CellProps) {
  const id = idIn(row, api.key);
  if (!isFirst || id === null || !hasEntityView(api)) return <>{children}</>;
  const to: View = { kind: 'entity', api: api.name, id: String(id), query: placeholderQuery(query) };
  if (isLink)
    return (
      <>
        {children}{' '}
        <Link to={to} state={{ row }}>
          Open
        </Link>
      </>
    );
  return (
    <Link to={to} class="row-link" state={{ row }}>
      {children}
      <span class="hidden">, open</span>
    </Link>
  );
}
