import { wordsOf } from '../model/columns.ts';
import { choicesOf, countParameters, countsQuery, countWords, groupValue, hasRoles, listOf, rowsQuery } from '../model/counts.ts';
import type { Api, Operation } from '../model/document.ts';
import { entriesOf, placeholderQuery, queryText, requestTarget, withParameters } from '../model/location.ts';
import { propertiesOf, resolve } from '../model/schema.ts';
import { CodePanel } from './code-panel.tsx';
import { getRequest, useApp, useGet } from './context.ts';
import { Exports } from './exports.tsx';
import { Filters } from './filters.tsx';
import { isPage, Pager } from './pager.tsx';
import { Checks, Heading, Link, Scroll, Spinner } from './parts.tsx';
import { ProblemBox } from './problem.tsx';
import { RawJson, Value } from './value.tsx';

type Row = Readonly<Record<string, unknown>>;

/** The number of rows for each value of a field, with the filters of the list. */
export function CountsView({ api, query }: { readonly api: Api; readonly query: string }) {
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <Link to={{ kind: 'list', api: api.name, query: placeholderQuery(query) }}>{wordsOf(api.name)}</Link>
      </nav>
      <div class="view-head">
        <Heading focusKey={`${api.name} counts`}>Counts</Heading>
        <p class="lead">The number of rows for each value.</p>
      </div>
      {api.aggregate ? (
        <Groups api={api} operation={api.aggregate} query={query} />
      ) : (
        <p class="notice">This API does not offer counts.</p>
      )}
    </>
  );
}

function Groups({ api, operation, query }: { readonly api: Api; readonly operation: Operation; readonly query: string }) {
  const { go } = useApp();
  const target = requestTarget(operation, query, null);
  const { answer, isLoading, reload } = useGet(target);
  const page = answer?.ok && isPage(answer.body) ? answer.body : null;
  const sample = useSample(api, operation, query);
  const [by, of] = [listOf(query, 'by'), listOf(query, 'of')];
  const show = (next: string, replace = false) => go({ kind: 'counts', api: api.name, query: next }, { replace });
  const toggle = (name: 'by' | 'of', chosen: readonly string[], value: string) => {
    const next = chosen.includes(value) ? chosen.filter((each) => each !== value) : [...chosen, value];
    const columns = ['count', ...(name === 'by' ? [...next, ...of] : [...by, ...next])];
    const sort = listOf(query, 'sort').filter((each) => columns.includes(each.replace(/^-/, '')));
    show(withParameters(query, { [name]: next.join(',') || null, sort: sort.join(',') || null }), true);
  };
  // these parameters have controls of their own
  const filters = { ...operation, query: operation.query.filter(({ name }) => ![...countParameters, 'sort'].includes(name)) };
  const menu = (name: 'by' | 'of', label: string, chosen: readonly string[]) => {
    const options = choicesOf(operation, name, sample, chosen);
    if (options.length === 0) return null;
    return (
      <Checks
        label={label}
        options={options.map((value) => ({ value, label: countWords(value), isChecked: chosen.includes(value) }))}
        onToggle={(value) => toggle(name, chosen, value)}
      />
    );
  };
  return (
    <>
      <Filters api={api} list={filters} query={query} rows={sample} others={countParameters} onQuery={show}>
        {menu('by', 'Count by', by)}
        {menu('of', 'Values', of)}
      </Filters>
      {answer && !answer.ok && (
        <ProblemBox
          problem={answer.problem}
          onRetry={reload}
          reset={{ kind: 'counts', api: api.name, query: countsQuery(api, placeholderQuery(query)) }}
        />
      )}
      {answer === null && <Spinner />}
      {page && (
        <>
          {page.results.length === 0 ? (
            <p class="empty">Nothing matches here.</p>
          ) : (
            <GroupTable
              api={api}
              operation={operation}
              groups={page.results}
              query={query}
              isLoading={isLoading}
              onQuery={show}
            />
          )}
          <Pager page={page} query={query} largest={null} onQuery={show} />
        </>
      )}
      <div class="below">
        {api.aggregateExports.length > 0 && (
          <Exports operations={api.aggregateExports} name={`${api.name}-counts`} text="Export these counts:" query={query} />
        )}
        {page && <RawJson value={page} target={target} />}
        <CodePanel api={api} operation={operation} request={getRequest(target)} />
      </div>
    </>
  );
}

/** Some row of the list, which shows the fields that the caller may name. It is only loaded if that depends on roles. */
function useSample({ list }: Api, operation: Operation, query: string): readonly unknown[] {
  const isNeeded = list !== null && hasRoles(operation);
  const one = queryText([...entriesOf(placeholderQuery(query)), ['items_per_page', '1']]);
  const { answer } = useGet(isNeeded ? requestTarget(list, one, null) : null);
  return answer?.ok && isPage(answer.body) ? answer.body.results : [];
}

interface GroupTableProps {
  readonly api: Api;
  readonly operation: Operation;
  readonly groups: readonly Row[];
  readonly query: string;
  readonly isLoading: boolean;
  readonly onQuery: (query: string) => void;
}

function GroupTable({ api, operation, groups, query, isLoading, onQuery }: GroupTableProps) {
  const { catalogue } = useApp();
  const { schemas } = catalogue;
  const results = operation.result && propertiesOf(schemas, operation.result).get('results');
  const item = (results && resolve(schemas, results).items) ?? {};
  const schemaOf = (column: string) => {
    const properties = propertiesOf(schemas, item);
    const [field = '', name = ''] = column.split(':');
    return properties.get(column) ?? propertiesOf(schemas, properties.get(field) ?? {}).get(name) ?? {};
  };
  const [by, of] = [listOf(query, 'by'), listOf(query, 'of')];
  const [order = ''] = listOf(query, 'sort');
  const largest = Math.max(1, ...groups.map(({ count }) => Number(count)));
  const head = (column: string, isNumber: boolean) => {
    // the largest numbers are of interest first
    const next = order === column ? `-${column}` : order === `-${column}` || !isNumber ? column : `-${column}`;
    const state = order === column ? 'ascending' : order === `-${column}` ? 'descending' : undefined;
    return (
      <th key={column} scope="col" class={isNumber ? 'number' : undefined} aria-sort={state}>
        <button type="button" class="sort" onClick={() => onQuery(withParameters(query, { sort: next }))}>
          {countWords(column)}
          <span aria-hidden="true">{state === 'ascending' ? ' ↑' : state === 'descending' ? ' ↓' : ''}</span>
        </button>
      </th>
    );
  };
  return (
    <Scroll label="Counts" class={isLoading ? 'table-box counts loading-rows' : 'table-box counts'} busy={isLoading}>
      <table>
        <caption class="hidden">Counts</caption>
        <thead>
          <tr>
            {by.map((column) => head(column, false))}
            {head('count', true)}
            <td class="bar-cell" />
            {of.map((column) => head(column, true))}
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => (
            <tr key={JSON.stringify(by.map((field) => group[field]))}>
              {by.map((column) => (
                <td key={column}>
                  <Value schema={schemaOf(column)} value={groupValue(group, column)} compact isKey />
                </td>
              ))}
              <td class="number">
                <Count api={api} query={query} group={group} />
              </td>
              <td class="bar-cell" aria-hidden="true">
                <span class="bar" style={{ width: `${(100 * Number(group.count)) / largest}%` }} />
              </td>
              {of.map((column) => (
                <td key={column} class="number">
                  <Value schema={schemaOf(column)} value={groupValue(group, column)} compact />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** The number of rows, as a link to them if filters of the list can select them. */
function Count({ api, query, group }: { readonly api: Api; readonly query: string; readonly group: Row }) {
  const rows = rowsQuery(api, query, group);
  const count = <Value schema={{ type: 'integer' }} value={group.count} compact />;
  if (rows === null) return count;
  return (
    <Link to={{ kind: 'list', api: api.name, query: rows }}>
      {count}
      <span class="hidden"> rows, open the list</span>
    </Link>
  );
}
