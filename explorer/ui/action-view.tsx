import { useState } from 'preact/hooks';
import type { SentRequest } from '../model/code.ts';
import { columnsOf, labelOf, wordsOf } from '../model/columns.ts';
import { type Api, apiOfModel, type Operation } from '../model/document.ts';
import { type Draft, draftOf, draftValue, type Fault } from '../model/draft.ts';
import { filtersOf } from '../model/filters.ts';
import { type Field, formOf } from '../model/form-model.ts';
import { addressOf, entriesOf, placeholderQuery, requestTarget, type View, withParameters } from '../model/location.ts';
import { modelsOf, propertiesOf, resolve, type Schema } from '../model/schema.ts';
import { loadDraft, type StoredDraft, saveDraft } from '../net/drafts.ts';
import { randomKey } from '../net/random-key.ts';
import { type Answer, send } from '../net/send.ts';
import { CodePanel } from './code-panel.tsx';
import { getRequest, useApp, useGet } from './context.ts';
import { DataTable } from './data-table.tsx';
import type { Faults } from './field-parts.tsx';
import { FieldInput, ObjectFields } from './fields.tsx';
import { actionLabel, actionName } from './list-view.tsx';
import { isPage, Pager } from './pager.tsx';
import { Heading, Link, Spinner } from './parts.tsx';
import { ProblemBox } from './problem.tsx';
import { Json, Value } from './value.tsx';

type ActionAddress = Extract<View, { kind: 'action' }>;

/** A custom action, or a route of a service. */
export function ActionView({ api, view }: { readonly api: Api; readonly view: ActionAddress }) {
  const operation = api.actions.find((each) => actionName(each) === view.action && each.method === view.method);
  const kept = placeholderQuery(view.query);
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <Link to={{ kind: 'list', api: api.name, query: kept }}>{wordsOf(api.name)}</Link>
        {view.id !== null && (
          <>
            {' '}
            <span aria-hidden="true">›</span>{' '}
            <Link to={{ kind: 'entity', api: api.name, id: view.id, query: kept }}>
              <bdi>{view.id}</bdi>
            </Link>
          </>
        )}
      </nav>
      <div class="view-head">
        <Heading focusKey={`${view.method} ${view.action}`}>
          {operation ? actionLabel(api, operation) : wordsOf(view.action)}
        </Heading>
        {operation?.description != null && <p class="lead">{operation.description}</p>}
      </div>
      {!operation && <p class="notice">This API does not offer this action.</p>}
      {operation &&
        (operation.method === 'GET' ? (
          <Reading api={api} operation={operation} view={view} />
        ) : (
          <Writing api={api} operation={operation} view={view} />
        ))}
    </>
  );
}

interface PartProps {
  readonly api: Api;
  readonly operation: Operation;
  readonly view: ActionAddress;
}

/** Query parameters as a form: they stand in the address. */
function Parameters({ operation, view }: Omit<PartProps, 'api'>) {
  const { go } = useApp();
  const known = filtersOf(operation);
  const given = new Map(entriesOf(view.query));
  if (known.length === 0) return null;
  const submit = (event: Event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    go({
      ...view,
      query: withParameters(view.query, Object.fromEntries([...form].map(([name, value]) => [name, String(value) || null]))),
    });
  };
  return (
    <form class="row" onSubmit={submit}>
      {known.map(({ parameter, schema, description }) => (
        <span class="inline" key={parameter} title={description ?? undefined}>
          <label for={`parameter-${parameter}`}>{parameter}</label>
          {schema.type === 'boolean' || schema.enum ? (
            <select id={`parameter-${parameter}`} name={parameter} defaultValue={given.get(parameter) ?? ''}>
              <option value="">–</option>
              {(schema.enum ?? ['true', 'false']).map((value) => (
                <option key={String(value)}>{String(value)}</option>
              ))}
            </select>
          ) : (
            <input id={`parameter-${parameter}`} name={parameter} defaultValue={given.get(parameter) ?? ''} autocomplete="off" />
          )}
        </span>
      ))}
      <button type="submit">Apply</button>
    </form>
  );
}

function Reading({ api, operation, view }: PartProps) {
  const { go } = useApp();
  const target = requestTarget(operation, view.query, view.id);
  const { answer, isLoading, reload } = useGet(target);
  return (
    <>
      <Parameters operation={operation} view={view} />
      {answer === null && <Spinner />}
      {answer && !answer.ok && <ProblemBox problem={answer.problem} onRetry={reload} />}
      {answer?.ok && (
        <Result
          api={api}
          schema={operation.result ?? {}}
          body={answer.body}
          query={view.query}
          isLoading={isLoading}
          onQuery={(query) => go({ ...view, query })}
        />
      )}
      <div class="below">
        <CodePanel api={api} operation={operation} request={getRequest(target)} />
      </div>
    </>
  );
}

type Stored = Pick<StoredDraft, 'draft' | 'key'>;

function begin(form: Field | null): Stored {
  const draft = form ? draftOf(form, form.kind === 'object' ? {} : undefined, labelOf) : null;
  return { draft, key: randomKey() };
}

function Writing({ api, operation, view }: PartProps) {
  const { announce, catalogue, session, settings } = useApp();
  const form = operation.body ? formOf(catalogue.schemas, operation.body) : null;
  const address = addressOf(settings.mount, view);
  const [{ draft, key }, setStored] = useState<Stored>(() => loadDraft(address) ?? begin(form));
  const change = (next: Draft) => {
    const stored = { draft: next, key, row: null, tag: null, owner: null };
    setStored(stored);
    saveDraft(address, stored);
  };
  const [last, setLast] = useState<{ readonly answer: Answer; readonly owner: string | null } | null>(null);
  // another caller must not see the result
  const answer = last && (last.owner === session.identity || !last.answer.ok) ? last.answer : null;
  const [local, setLocal] = useState<readonly Fault[]>([]);
  const [isBusy, setBusy] = useState(false);
  const faults: Fault[] = [];
  const body = form ? draftValue(form, draft, '', faults) : undefined;
  const request: SentRequest = {
    method: operation.method,
    target: requestTarget(operation, view.query, view.id),
    headers: operation.takesKey ? { 'Idempotency-Key': key } : {},
    ...(body !== undefined && { body }),
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    setLocal(faults);
    if (faults.length > 0 || isBusy) return;
    setBusy(true);
    const owner = session.identity;
    const got = await send(session, request);
    setBusy(false);
    setLast({ answer: got, owner });
    if (got.ok) {
      setStored({ draft, key: randomKey() });
      saveDraft(address, null);
      announce('Done');
    }
  };
  const violations = answer && !answer.ok ? answer.problem.violations : [];
  const messages: Faults = new Map([
    ...local.map(({ path, message }) => [path, [message]] as const),
    ...violations.map(({ propertyPath, title }) => [propertyPath, [title]] as const),
  ]);
  return (
    <>
      <Parameters operation={operation} view={view} />
      <form class="stack entity-form" onSubmit={submit} noValidate>
        {answer && !answer.ok && <ProblemBox problem={answer.problem} focus />}
        {form && <Body form={form} draft={draft} faults={messages} onChange={change} />}
        <p class="row">
          <button type="submit" class="primary" disabled={isBusy}>
            {isBusy ? 'Sending…' : wordsOf(actionLabel(api, operation))}
          </button>
        </p>
      </form>
      {answer?.ok && (
        <section aria-labelledby="result-title">
          <h2 id="result-title">Result</h2>
          <Result api={api} schema={operation.result ?? {}} body={answer.body} query="" />
        </section>
      )}
      <div class="below">
        <CodePanel api={api} operation={operation} request={request} />
      </div>
    </>
  );
}

interface BodyProps {
  readonly form: Field;
  readonly draft: Draft;
  readonly faults: Faults;
  readonly onChange: (draft: Draft) => void;
}

function Body({ form, draft, faults, onChange }: BodyProps) {
  if (form.kind === 'object' && draft !== null)
    return <ObjectFields field={form} draft={draft} path="" faults={faults} onChange={onChange} />;
  return <FieldInput field={form} draft={draft} path="" label="Body" faults={faults} onChange={onChange} />;
}

interface ResultProps {
  readonly api: Api;
  readonly schema: Schema;
  readonly body: unknown;
  readonly query: string;
  readonly isLoading?: boolean;
  readonly onQuery?: (query: string) => void;
}

/** The response of an action: a table, a row, or JSON. */
function Result({ api, schema, body, query, isLoading = false, onQuery }: ResultProps) {
  const { catalogue } = useApp();
  const { schemas } = catalogue;
  if (body === null || body === '') return <p class="soft">The response has no content.</p>;
  const rows = isPage(body) ? body.results : Array.isArray(body) ? body : null;
  const items = resolve(schemas, isPage(body) ? (propertiesOf(schemas, schema).get('results') ?? {}) : schema).items ?? {};
  const isTable = rows?.every((row) => typeof row === 'object' && row !== null) && propertiesOf(schemas, items).size > 0;
  if (rows && isTable) {
    const model = modelsOf(schemas, items)[0];
    const owner = (model !== undefined && apiOfModel(catalogue, model)) || api;
    return (
      <>
        {rows.length === 0 ? (
          <p class="empty">Nothing matches here.</p>
        ) : (
          <DataTable
            api={owner}
            columns={columnsOf(schemas, items, [], null, rows)}
            rows={rows}
            caption="Result"
            query=""
            sort={null}
            isLoading={isLoading}
          />
        )}
        {isPage(body) && onQuery && <Pager page={body} query={query} largest={null} onQuery={onQuery} />}
      </>
    );
  }
  const properties = propertiesOf(schemas, schema);
  if (typeof body !== 'object' || properties.size === 0) return <Json value={body} />;
  return (
    <dl class="fields">
      {Object.entries(body).map(([name, value]) => (
        <div key={name}>
          <dt>{wordsOf(name)}</dt>
          <dd>
            <Value schema={properties.get(name) ?? {}} value={value} isKey={name === 'id'} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
