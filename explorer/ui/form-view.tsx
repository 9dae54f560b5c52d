import { useEffect, useRef, useState } from 'preact/hooks';
import { changedFields, createBody, editedValues, rebased, writable } from '../model/changes.ts';
import type { SentRequest } from '../model/code.ts';
import { labelOf, wordsOf } from '../model/columns.ts';
import type { Api, Operation } from '../model/document.ts';
import { draftOf, type Fault, type ObjectDraft } from '../model/draft.ts';
import { type FieldOf, formOf } from '../model/form-model.ts';
import { formOfRow } from '../model/granted.ts';
import { idIn } from '../model/key.ts';
import { addressOf, placeholderQuery, requestTarget } from '../model/location.ts';
import { withReadReferences } from '../model/read-references.ts';
import { loadDraft, type StoredDraft, saveDraft } from '../net/drafts.ts';
import { randomKey } from '../net/random-key.ts';
import { isStrong } from '../net/send.ts';
import { CodePanel } from './code-panel.tsx';
import { Conflict } from './conflict.tsx';
import { useApp, useGet } from './context.ts';
import { rowFromHistory } from './entity-view.tsx';
import type { Faults } from './field-parts.tsx';
import { ObjectFields } from './fields.tsx';
import { Heading, Link, Spinner } from './parts.tsx';
import { ProblemBox } from './problem.tsx';
import { useSaving } from './saving.ts';

type Row = Readonly<Record<string, unknown>>;

interface FormViewProps {
  readonly api: Api;
  /** The row to edit; null creates a new one. */
  readonly id: string | null;
  readonly query: string;
}

export function FormView({ api, id, query }: FormViewProps) {
  const { catalogue, session, settings, view } = useApp();
  const operation = id === null ? api.create : (api.patch ?? api.put);
  const address = addressOf(settings.mount, view);
  const [kept, setStored] = useState<StoredDraft | null>(() => loadDraft(address));
  const [isRestored] = useState(kept !== null);
  const isOwn = kept === null || kept.row === null || kept.owner === null || kept.owner === session.identity;
  const stored = isOwn ? kept : null;
  const target = id !== null && api.get && stored === null ? requestTarget(api.get, query, id) : null;
  const { answer, reload } = useGet(target);
  const whole = operation?.body
    ? withReadReferences(catalogue.schemas, formOf(catalogue.schemas, operation.body), api.item)
    : null;

  const ofRow = (object: FieldOf<'object'>, row: Row | null) =>
    row === null ? object : formOfRow(object, row, hiddenHint(row, operation));
  const form = whole?.kind === 'object' && stored ? ofRow(whole, stored.row) : whole;

  useEffect(() => {
    if (stored !== null || whole?.kind !== 'object') return;
    const begin = (row: Row | null, tag: string | null) => {
      const form = ofRow(whole, row);
      // what another caller typed stays, but not the row that only that caller may see
      const draft =
        kept?.row && row ? rebased(form, kept.row, kept.draft as ObjectDraft, row, labelOf) : draftOf(form, row ?? {}, labelOf);
      setStored({ draft, row, tag, owner: session.identity, key: randomKey() });
    };
    if (id === null) begin(null, null);
    else if (answer?.ok) begin(answer.body as Row, answer.tag);
    else if (!api.get) begin(rowFromHistory(session) ?? {}, null);
  }, [answer, stored]);

  const placed = placeholderQuery(query);
  const title =
    id === null
      ? `New: ${wordsOf(api.name).toLowerCase()}`
      : `Edit ${stored?.row && idIn(stored.row, api.key) !== null ? labelOf(stored.row, api.key) : id}`;
  return (
    <>
      <nav class="crumbs" aria-label="Path">
        <Link to={{ kind: 'list', api: api.name, query: placed }}>{wordsOf(api.name)}</Link>
        {id !== null && (
          <>
            {' '}
            <span aria-hidden="true">›</span>{' '}
            <Link to={{ kind: 'entity', api: api.name, id, query: placed }}>
              <bdi>{id}</bdi>
            </Link>
          </>
        )}
      </nav>
      <div class="view-head">
        <Heading focusKey={address}>
          <bdi>{title}</bdi>
        </Heading>
        {operation?.description != null && <p class="lead">{operation.description}</p>}
      </div>
      {operation === null && <p class="notice">This API does not offer this operation.</p>}
      {answer && !answer.ok && <ProblemBox problem={answer.problem} onRetry={reload} />}
      {operation && form?.kind !== 'object' && (
        <p class="notice">The body of this operation has no form. Send it with another tool.</p>
      )}
      {form?.kind === 'object' && !stored && !(answer && !answer.ok) && <Spinner />}
      {operation && stored && form?.kind === 'object' && (
        <Form
          api={api}
          id={id}
          query={query}
          operation={operation}
          form={form}
          stored={stored}
          isRestored={isRestored}
          onStored={(next) => {
            setStored(next);
            saveDraft(address, next);
          }}
          onDone={() => saveDraft(address, null)}
        />
      )}
    </>
  );
}

interface FormProps extends FormViewProps {
  readonly operation: Operation;
  readonly form: FieldOf<'object'>;
  readonly stored: StoredDraft;
  readonly isRestored: boolean;
  /** Keeps what was typed, or forgets it. */
  readonly onStored: (stored: StoredDraft | null) => void;
  readonly onDone: () => void;
}

function Form(props: FormProps) {
  const { api, form, id, isRestored, onDone, onStored, query, stored } = props;
  const { announce, go } = useApp();
  const draft = stored.draft as ObjectDraft;
  const [local, setLocal] = useState<readonly Fault[]>([]);
  const element = useRef<HTMLFormElement>(null);
  const { request, faults, isEmpty } = requestOf(props);
  const saving = useSaving(props, (row) => {
    onDone();
    const key = idIn(row, api.key) ?? id;
    const kept = placeholderQuery(query);
    announce(id === null ? 'Created' : 'Saved');
    if (key !== null && (api.get || api.patch))
      go({ kind: 'entity', api: api.name, id: String(key), query: kept }, { state: { row } });
    else go({ kind: 'list', api: api.name, query: kept });
  });
  const messages = faultsOf(local, saving.problem?.violations ?? []);
  useEffect(() => {
    if (messages.size > 0) element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [saving.problem, local]);

  const cancel = () => {
    onDone();
    const kept = placeholderQuery(query);
    go(id === null ? { kind: 'list', api: api.name, query: kept } : { kind: 'entity', api: api.name, id, query: kept });
  };
  const submit = (event: Event) => {
    event.preventDefault();
    setLocal(faults);
    if (faults.length > 0) return;
    if (isEmpty) announce('Nothing was changed.');
    else saving.save(request);
  };
  const known = new Set([...messages.keys()].filter((path) => hasField(form, path)));
  const others = [...messages].filter(([path]) => !known.has(path));
  return (
    <form class="stack entity-form" ref={element} onSubmit={submit} noValidate>
      {isRestored && (
        <p class="notice row spread">
          <span>What you typed before is still here.</span>
          <button type="button" class="small" onClick={() => onStored(null)}>
            Discard it
          </button>
        </p>
      )}
      {stored.row && Object.keys(stored.row).length === 0 && (
        <p class="notice">
          This API does not show the stored values.{' '}
          {props.operation.method === 'PUT' ? 'Saving replaces all of them.' : 'Fields that you leave empty keep them.'}
        </p>
      )}
      {saving.problem && (
        <ProblemBox
          problem={saving.problem}
          focus={messages.size === 0}
          {...(messages.size > 0 && others.length === 0 && { text: 'Check the marked fields.' })}
        />
      )}
      {saving.problem?.code === 'idempotency_key_reused' && (
        <p class="notice row spread">
          <span>An earlier attempt may have succeeded. Look at the list before you save again.</span>
          <button type="button" class="small" onClick={() => onStored({ ...stored, key: randomKey() })}>
            Treat this as a new one
          </button>
        </p>
      )}
      {others.length > 0 && (
        <ul class="fault" role="alert">
          {others.map(([path, texts]) => (
            <li key={path}>
              {path === '' ? '' : `${path}: `}
              {texts.join(' ')}
            </li>
          ))}
        </ul>
      )}
      {saving.theirs && stored.row && (
        <Conflict
          api={api}
          form={form}
          base={stored.row}
          theirs={saving.theirs.row}
          draft={draft}
          onChoice={(draft) => {
            if (!saving.theirs) return;
            const next = { ...stored, draft, row: saving.theirs.row, tag: saving.theirs.tag };
            onStored(next);
            saving.save(requestOf({ ...props, stored: next }).request, next);
          }}
        />
      )}
      <ObjectFields
        field={form}
        draft={draft}
        path=""
        faults={messages}
        onChange={(draft) => onStored({ ...stored, draft: draft as ObjectDraft })}
      />
      <p class="row sticky-actions">
        <button type="submit" class="primary" disabled={saving.isBusy}>
          {saving.isBusy ? 'Saving…' : id === null ? 'Create' : 'Save'}
        </button>
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      </p>
      <CodePanel api={api} operation={props.operation} request={request} />
    </form>
  );
}

/** The request that the form sends. */
function requestOf({ form, id, operation, query, stored }: FormProps): {
  request: SentRequest;
  faults: readonly Fault[];
  isEmpty: boolean;
} {
  const { key, row, tag } = stored;
  const draft = stored.draft as ObjectDraft;
  const target = requestTarget(operation, query, id);
  const headers = {
    ...(operation.takesKey && { 'Idempotency-Key': key }),
    ...(isStrong(tag) && id !== null && { 'If-Match': tag }),
  };
  if (row === null) {
    const { body, faults } = createBody(form, draft);
    return { request: { method: operation.method, target, headers, body }, faults, isEmpty: false };
  }
  const { values, faults } = editedValues(form, row, draft);
  const patch = operation.method === 'PATCH' ? changedFields(form, writable(form, row), values) : null;
  const body = patch?.body ?? values;
  const request = { method: operation.method, target, headers, body };
  return { request, faults: [...faults, ...(patch?.faults ?? [])], isEmpty: Object.keys(body).length === 0 };
}

/** What saving does to a field that the API does not show. If it shows none of them, a notice says it once. */
function hiddenHint(row: Row, operation: Operation | null): string {
  if (Object.keys(row).length === 0) return '';
  return operation?.method === 'PUT'
    ? 'The stored value is not shown. Saving replaces it, also if this is empty.'
    : 'The stored value is not shown. It stays if this is left empty.';
}

function faultsOf(local: readonly Fault[], violations: readonly { propertyPath: string; title: string }[]): Faults {
  const all = [
    ...local.map(({ path, message }) => [path, message] as const),
    ...violations.map(({ propertyPath, title }) => [propertyPath, title] as const),
  ];
  const grouped = Map.groupBy(all, ([path]) => path);
  return new Map([...grouped].map(([path, messages]) => [path, messages.map(([, message]) => message)]));
}

/** Whether a message stands next to a field of the form. */
function hasField(form: FieldOf<'object'>, path: string): boolean {
  const [first = ''] = path.split(/[.[]/);
  return form.variants.some(({ fields }) =>
    fields.some(({ name, kind }) => name === first && (path === first || kind === 'object' || kind === 'list')),
  );
}
