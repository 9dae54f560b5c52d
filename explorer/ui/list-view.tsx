import { columnsOf, wordsOf } from '../model/columns.ts';
import { countsQuery } from '../model/counts.ts';
import { type Api, isSingle, type Operation, placeholdersOf } from '../model/document.ts';
import { activeFilters, sortsOf } from '../model/filters.ts';
import { entriesOf, placeholderQuery, requestTarget, withParameters } from '../model/location.ts';
import { CodePanel } from './code-panel.tsx';
import { getRequest, useApp, useGet } from './context.ts';
import { DataTable } from './data-table.tsx';
import { Exports } from './exports.tsx';
import { Filters } from './filters.tsx';
import { OpenById } from './open-by-id.tsx';
import { isPage, Pager } from './pager.tsx';
import { Heading, Link, Spinner } from './parts.tsx';
import { missingPlaceholders, Placeholders } from './placeholders.tsx';
import { ProblemBox } from './problem.tsx';
import { hasEntityView, RawJson } from './value.tsx';

export function ListView({ api, query }: { readonly api: Api; readonly query: string }) {
  const kept = placeholderQuery(query);
  const anyOperation = api.list ?? api.create ?? api.get ?? api.actions[0];
  return (
    <>
      <div class="view-head">
        <div class="title-row">
          <Heading focusKey={api.name}>{wordsOf(api.name)}</Heading>
          <ListActions api={api} query={query} />
        </div>
        {api.description !== null && <p class="lead">{api.description}</p>}
      </div>
      {anyOperation && placeholdersOf(anyOperation).length > 0 && <Placeholders operation={anyOperation} query={query} />}
      {api.list
        ? missingPlaceholders(api.list, query).length === 0 && <Rows api={api} list={api.list} query={query} />
        : hasEntityView(api) && <p class="notice">This API does not offer a list. Open a row by its id.</p>}
      {!api.list && hasEntityView(api) && <OpenById api={api} query={kept} />}
    </>
  );
}

/** Creation and custom actions, if they are declared and were not refused. */
function ListActions({ api, query: whole }: { readonly api: Api; readonly query: string }) {
  const { session } = useApp();
  const query = placeholderQuery(whole);
  const isOffered = (operation: Operation) =>
    !session.refused.has(`${operation.method} ${requestTarget(operation, query, null)}`);
  return (
    <div class="row">
      {api.aggregate && isOffered(api.aggregate) && (
        <Link class="button" to={{ kind: 'counts', api: api.name, query: countsQuery(api, whole) }}>
          Counts
        </Link>
      )}
      {api.actions
        .filter((operation) => !isSingle(operation) && isOffered(operation))
        .map((operation) => (
          <Link
            key={`${operation.method} ${operation.path}`}
            class="button"
            to={{ kind: 'action', api: api.name, id: null, action: actionName(operation), method: operation.method, query }}
          >
            {actionLabel(api, operation)}
          </Link>
        ))}
      {api.create && isOffered(api.create) && (
        <Link class="button primary" to={{ kind: 'create', api: api.name, query }}>
          New
        </Link>
      )}
    </div>
  );
}

/** The name of an action in the address: that of the declaration, or the path for routes of services. */
export function actionName({ action, path }: Operation): string {
  return action ?? path;
}

export function actionLabel(api: Api, operation: Operation): string {
  const own = operation.action === null ? operation.path : wordsOf(operation.action);
  const isOneOfSeveral = api.actions.filter(({ path }) => path === operation.path).length > 1;
  return isOneOfSeveral ? `${own} (${operation.method})` : own;
}

function Rows({ api, list, query }: { readonly api: Api; readonly list: Operation; readonly query: string }) {
  const { catalogue, go } = useApp();
  const target = requestTarget(list, query, null);
  const { answer, isLoading, reload } = useGet(target);
  const values = new Map(entriesOf(query));
  const show = (next: string, replace = false) => go({ kind: 'list', api: api.name, query: next }, { replace });
  const page = answer?.ok && isPage(answer.body) ? answer.body : null;
  const rows = page?.results ?? [];
  const columns = columnsOf(catalogue.schemas, api.row, sortsOf(list, rows), values.get('fields') ?? null, rows);
  const isFiltered = values.has('q') || activeFilters(query).length > 0;
  const largest = list.query.find(({ name }) => name === 'items_per_page')?.schema.maximum ?? null;
  return (
    <>
      <Filters api={api} list={list} query={query} rows={rows} onQuery={show} />
      {answer && !answer.ok && (
        <ProblemBox
          problem={answer.problem}
          onRetry={reload}
          reset={{ kind: 'list', api: api.name, query: placeholderQuery(query) }}
        />
      )}
      {answer === null && <Spinner />}
      {page && (
        <>
          {page.results.length === 0 ? (
            <p class="empty">{isFiltered ? 'Nothing matches the filters.' : 'There are no rows here.'}</p>
          ) : (
            <DataTable
              api={api}
              columns={columns}
              rows={page.results}
              caption={wordsOf(api.name)}
              query={query}
              sort={values.get('sort') ?? null}
              onSort={(sort) => show(withParameters(query, { sort }))}
              isLoading={isLoading}
            />
          )}
          <Pager page={page} query={query} largest={largest} onQuery={show} />
        </>
      )}
      <div class="below">
        {api.exports.length > 0 && (
          <Exports operations={api.exports} name={api.name} text="Export the whole list:" query={query} />
        )}
        {page && <RawJson value={page} target={target} />}
        <CodePanel api={api} operation={list} request={getRequest(target)} />
      </div>
    </>
  );
}
