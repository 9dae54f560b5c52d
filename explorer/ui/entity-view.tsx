import { useState } from 'preact/hooks';
import { labelOf, wordsOf } from '../model/columns.ts';
import { type Api, isSingle, type Operation } from '../model/document.ts';
import { keyFields } from '../model/key.ts';
import { placeholderQuery, requestTarget } from '../model/location.ts';
import { isStrong, type Problem, send } from '../net/send.ts';
import type { Session } from '../net/session.ts';
import { AssociationEditor } from './association-editor.tsx';
import { CodePanel } from './code-panel.tsx';
import { getRequest, useApp, useGet } from './context.ts';
import { actionLabel, actionName } from './list-view.tsx';
import { Dialog, Heading, Link, Spinner } from './parts.tsx';
import { ProblemBox } from './problem.tsx';
import { propertySchema, RawJson, Value } from './value.tsx';

type Row = Readonly<Record<string, unknown>>;

interface EntityProps {
  readonly api: Api;
  readonly id: string;
  readonly query: string;
}

/** The row of the list that led here, for APIs that cannot fetch a single one. Another caller must not see it. */
export function rowFromHistory({ identity }: Session): Row | null {
  const { owner, row } = (history.state ?? {}) as { owner?: string | null; row?: Row };
  return owner === identity ? (row ?? null) : null;
}

export function EntityView({ api, id, query }: EntityProps) {
  const { session } = useApp();
  const target = api.get ? requestTarget(api.get, query, id) : null;
  const { answer, reload } = useGet(target);
  const row = api.get ? (answer?.ok ? (answer.body as Row) : null) : rowFromHistory(session);
  const tag = answer?.ok ? answer.tag : null;
  const kept = placeholderQuery(query);
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <Link to={{ kind: 'list', api: api.name, query: kept }}>{wordsOf(api.name)}</Link> <span aria-hidden="true">›</span>{' '}
        <bdi>{id}</bdi>
      </nav>
      <div class="view-head title-row">
        <Heading focusKey={`${api.name} ${id}`}>
          <bdi>{row ? labelOf(row, api.key) : id}</bdi>
        </Heading>
        {!(answer && !answer.ok && answer.problem.status === 404) && (
          <EntityActions api={api} id={id} query={kept} tag={tag} row={row} onChanged={reload} />
        )}
      </div>
      {target !== null && answer === null && <Spinner />}
      {answer && !answer.ok && <ProblemBox problem={answer.problem} onRetry={reload} />}
      {target === null && row === null && <p class="notice">This API does not offer to read a single row.</p>}
      {row && <Fields api={api} id={id} query={query} row={row} tag={tag} onChanged={reload} />}
      {api.get && target !== null && (
        <div class="below">
          {row && <RawJson value={row} target={target} />}
          <CodePanel api={api} operation={api.get} request={getRequest(target)} />
        </div>
      )}
    </>
  );
}

interface FieldsProps extends EntityProps {
  readonly row: Row;
  readonly tag: string | null;
  readonly onChanged: () => void;
}

function Fields({ api, id, query, row, tag, onChanged }: FieldsProps) {
  const { catalogue } = useApp();
  const names = [...new Set([...Object.keys(row), ...api.associations.keys()])];
  return (
    <dl class="fields">
      {names.map((name) => {
        const schema = propertySchema(catalogue, api.item, name);
        const association = api.associations.get(name);
        return (
          <div key={name}>
            <dt>
              {wordsOf(name)}
              {schema.description !== undefined && <small>{schema.description}</small>}
            </dt>
            <dd>
              {association ? (
                <AssociationEditor
                  schema={schema}
                  items={Array.isArray(row[name]) ? row[name] : []}
                  name={name}
                  id={id}
                  query={query}
                  tag={tag}
                  add={association.add}
                  remove={association.remove}
                  api={api}
                  onChanged={onChanged}
                />
              ) : (
                <Value schema={schema} value={row[name]} isKey={keyFields(api.key).includes(name)} />
              )}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

interface ActionsProps extends EntityProps {
  readonly tag: string | null;
  readonly row: Row | null;
  readonly onChanged: () => void;
}

/** Operations on the row that are declared and were not refused. */
function EntityActions({ api, id, query, tag, row, onChanged }: ActionsProps) {
  const { session } = useApp();
  const [isDeleting, setDeleting] = useState(false);
  const isOffered = (operation: Operation) => !session.refused.has(`${operation.method} ${requestTarget(operation, query, id)}`);
  const edit = api.patch ?? api.put;
  return (
    <div class="row">
      {api.actions
        .filter((operation) => isSingle(operation) && isOffered(operation))
        .map((operation) => (
          <Link
            key={`${operation.method} ${operation.path}`}
            class="button"
            to={{ kind: 'action', api: api.name, id, action: actionName(operation), method: operation.method, query }}
          >
            {actionLabel(api, operation)}
          </Link>
        ))}
      {api.remove && isOffered(api.remove) && (
        <button type="button" class="danger" onClick={() => setDeleting(true)}>
          Delete
        </button>
      )}
      {edit && isOffered(edit) && (
        <Link class="button primary" to={{ kind: 'edit', api: api.name, id, query }} state={row ? { row } : null}>
          Edit
        </Link>
      )}
      {isDeleting && api.remove && (
        <DeleteDialog
          api={api}
          operation={api.remove}
          id={id}
          query={query}
          tag={tag}
          label={row ? labelOf(row, api.key) : id}
          onClose={() => setDeleting(false)}
          onChanged={onChanged}
        />
      )}
    </div>
  );
}

interface DeleteProps extends EntityProps {
  readonly operation: Operation;
  readonly tag: string | null;
  readonly label: string;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

function DeleteDialog({ api, operation, id, query, tag, label, onClose, onChanged }: DeleteProps) {
  const { announce, go, session } = useApp();
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const request = {
    method: 'DELETE',
    target: requestTarget(operation, query, id),
    headers: isStrong(tag) ? { 'If-Match': tag } : {},
  };
  const confirm = async () => {
    setBusy(true);
    const answer = await send(session, request);
    setBusy(false);
    if (answer.ok) {
      announce(`Deleted ${label}`);
      go({ kind: 'list', api: api.name, query });
      return;
    }
    setProblem(answer.problem);
    // the page behind the dialog shows the version that is stored now
    if (answer.problem.status === 412) onChanged();
  };
  return (
    <Dialog title={`Delete ${label}?`} onClose={onClose}>
      <div class="stack">
        <p>This cannot be undone.</p>
        {problem && <ProblemBox problem={problem} focus />}
        {problem?.status === 412 && <p>Somebody changed it in the meantime. Close this dialog to see the current version.</p>}
        <CodePanel api={api} operation={operation} request={request} />
        <p class="row end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="button" class="danger" disabled={isBusy || problem?.status === 412} onClick={confirm}>
            Delete
          </button>
        </p>
      </div>
    </Dialog>
  );
}
