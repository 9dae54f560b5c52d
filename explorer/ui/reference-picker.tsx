import { useEffect, useRef, useState } from 'preact/hooks';
import { labelOf, shortened, wordsOf } from '../model/columns.ts';
import { type Api, apiOfModel } from '../model/document.ts';
import type { ReferenceDraft } from '../model/draft.ts';
import type { ReferenceTarget } from '../model/form-model.ts';
import { idIn, type Key, keyFields } from '../model/key.ts';
import { queryOfLink, queryText, requestTarget } from '../model/location.ts';
import { useApp, useGet } from './context.ts';
import { IdForm } from './id-form.tsx';
import { isPage } from './pager.tsx';
import { Dialog, Spinner } from './parts.tsx';
import { ProblemBox } from './problem.tsx';
import { pickedReference } from './references.ts';

const pageSize = 10;

interface PickerProps {
  readonly title: string;
  readonly targets: readonly ReferenceTarget[];
  readonly onPick: (reference: ReferenceDraft) => void;
  readonly onClose: () => void;
}

/** Picks a row through the search or the filters of its API, page by page. */
export function ReferencePicker({ title, targets, onPick, onClose }: PickerProps) {
  const { catalogue } = useApp();
  const [model, setModel] = useState(targets[0]?.model ?? '');
  const target = targets.find((each) => each.model === model) ?? targets[0];
  if (!target) return null;
  const api = apiOfModel(catalogue, target.model);
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">
        {targets.length > 1 && (
          <fieldset class="segments">
            <legend class="hidden">Kind</legend>
            {targets.map((each) => (
              <button
                type="button"
                key={each.model}
                aria-pressed={each.model === target.model}
                onClick={() => setModel(each.model)}
              >
                {wordsOf(each.model)}
              </button>
            ))}
          </fieldset>
        )}
        {api?.list && api.list.inPath.length === 0 ? (
          <Candidates key={target.model} api={api} target={target} onPick={onPick} />
        ) : (
          <IdField target={target} onPick={onPick} />
        )}
      </div>
    </Dialog>
  );
}

type CandidatesProps = {
  readonly api: Api;
  readonly target: ReferenceTarget;
  readonly onPick: (reference: ReferenceDraft) => void;
};

function Candidates({ api, target, onPick }: CandidatesProps) {
  const search = searchOf(api);
  const [text, setText] = useState('');
  const [query, setQuery] = useState(startQuery(api, search, ''));
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const { answer, isLoading, reload } = useGet(api.list && requestTarget(api.list, query, null));
  const page = answer?.ok && isPage(answer.body) ? answer.body : null;
  const change = (value: string) => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setQuery(startQuery(api, search, value)), 250);
  };
  const { next = null, previous = null } = page?.pagination ?? {};
  return (
    <>
      {search && (
        <input
          type="search"
          aria-label={search.label}
          placeholder={search.label}
          value={text}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
      {answer && !answer.ok && <ProblemBox problem={answer.problem} onRetry={reload} />}
      {answer === null && <Spinner />}
      {page && (
        <>
          <ul class={isLoading ? 'candidates loading-rows' : 'candidates'} aria-label="Matching rows" aria-busy={isLoading}>
            {page.results.map((row, index) => {
              const reference = pickedReference(target, row);
              return (
                <li key={String(idIn(row, api.key) ?? index)}>
                  <button type="button" disabled={reference === null} onClick={() => reference && onPick(reference)}>
                    <bdi>{labelOf(row, api.key)}</bdi>
                    <span class="soft">{detailOf(row, api.key)}</span>
                  </button>
                </li>
              );
            })}
          </ul>
          <div class="row spread">
            <p class="soft" role="status">
              {page.results.length === 0 ? 'Nothing matches' : `${page.count?.toLocaleString() ?? 'Some'} matching`}
            </p>
            <div class="row">
              <button type="button" disabled={previous === null} onClick={() => previous && setQuery(queryOfLink(previous))}>
                ‹ Previous
              </button>
              <button type="button" disabled={next === null} onClick={() => next && setQuery(queryOfLink(next))}>
                Next ›
              </button>
            </div>
          </div>
        </>
      )}
    </>
  );
}

/** The parameter by which rows are found: the search, or a filter of a text. */
function searchOf({ list }: Api): { readonly parameter: string; readonly label: string } | null {
  const names = list?.query.map(({ name }) => name) ?? [];
  if (names.includes('q')) return { parameter: 'q', label: 'Search' };
  const operator = ['contains', 'starts', 'eq'].flatMap((each) => names.find((name) => name.endsWith(`[${each}]`)) ?? [])[0];
  if (operator === undefined) return null;
  return { parameter: operator, label: `${wordsOf(operator.replace(/\[\w+\]$/, ''))} ${/\[(\w+)\]$/.exec(operator)?.[1]}` };
}

function startQuery({ list }: Api, search: { readonly parameter: string } | null, text: string): string {
  const largest = list?.query.find(({ name }) => name === 'items_per_page')?.schema.maximum ?? null;
  return queryText([
    ...(largest === null ? [] : ([['items_per_page', String(Math.min(pageSize, largest))]] as const)),
    ...(search && text.trim() !== '' ? ([[search.parameter, text.trim()]] as const) : []),
  ]);
}

/** A second line that tells rows with the same name apart. */
function detailOf(row: Readonly<Record<string, unknown>>, key: Key): string {
  const label = labelOf(row, key);
  const others = Object.entries(row).filter(([name, value]) => name !== 'type' && isPlain(value) && String(value) !== label);
  return shortened(
    others
      .map(([name, value]) => (keyFields(key).includes(name) ? `#${value}` : String(value)))
      .slice(0, 4)
      .join(' · '),
    100,
  );
}

function isPlain(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && value !== '');
}

/** For models without a list: the id is typed. */
function IdField({ target, onPick }: Omit<CandidatesProps, 'api'>) {
  const isSingle = target.parts.length === 1;
  const pick = (text: string) => {
    const id = isSingle && /^\d{1,15}$/.test(text) ? Number(text) : text;
    onPick({ model: target.model, type: target.typed ? (target.types[0] ?? null) : null, id, label: text });
  };
  return <IdForm idKey={target.parts} label={`Id of the ${wordsOf(target.model).toLowerCase()}`} action="Choose" onId={pick} />;
}
