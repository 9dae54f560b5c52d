import { useState } from 'preact/hooks';
import { labelOf } from '../model/columns.ts';
import type { Api, Operation } from '../model/document.ts';
import type { ReferenceDraft } from '../model/draft.ts';
import { formOf } from '../model/form-model.ts';
import { requestTarget } from '../model/location.ts';
import type { Schema } from '../model/schema.ts';
import { randomKey } from '../net/random-key.ts';
import { isStrong, type Problem, send } from '../net/send.ts';
import { useApp } from './context.ts';
import { ProblemBox } from './problem.tsx';
import { ReferencePicker } from './reference-picker.tsx';
import { referenceOf } from './references.ts';
import { Value } from './value.tsx';

interface EditorProps {
  readonly api: Api;
  readonly schema: Schema;
  readonly items: readonly unknown[];
  readonly name: string;
  readonly id: string;
  readonly query: string;
  readonly tag: string | null;
  readonly add: Operation | null;
  readonly remove: Operation | null;
  readonly onChanged: () => void;
}

type Body = Readonly<Record<string, unknown>>;

/** The items of an association, with buttons to add and remove them. */
export function AssociationEditor({ schema, items, name, id, query, tag, add, remove, onChanged }: EditorProps) {
  const { announce, catalogue, session } = useApp();
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isPicking, setPicking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const body = add?.body ?? remove?.body ?? {};
  const field = formOf(catalogue.schemas, body);
  const targets = field.kind === 'reference' ? field.targets : [];

  const change = async (operation: Operation, sent: Body, done: string) => {
    setBusy(true);
    const headers = {
      ...(isStrong(tag) && operation.takesTag && { 'If-Match': tag }),
      ...(operation.takesKey && { 'Idempotency-Key': randomKey() }),
    };
    const target = requestTarget(operation, query, id);
    const answer = await send(session, { method: operation.method, target, headers, body: sent });
    setBusy(false);
    setProblem(answer.ok ? null : answer.problem);
    if (answer.ok) announce(done);
    if (answer.ok || answer.problem.status === 412) onChanged();
  };
  const isOffered = (operation: Operation | null) =>
    operation !== null && !session.refused.has(`${operation.method} ${requestTarget(operation, query, id)}`);
  const pick = (reference: ReferenceDraft) => {
    setPicking(false);
    const key = targets.find(({ model }) => model === reference.model)?.key ?? 'id';
    const sent = { ...(reference.type !== null && { type: reference.type }), [key]: reference.id };
    if (add) change(add, sent, `Added ${reference.label}`);
  };
  const item = schema.items ?? {};
  return (
    <div class="association" aria-busy={isBusy}>
      {items.length === 0 && <span class="soft">none</span>}
      <ul class="items">
        {items.map((each, index) => {
          const reference = referenceOf(targets, each);
          return (
            <li key={index}>
              <Value schema={item} value={each} />
              {remove && isOffered(remove) && reference && (
                <button
                  type="button"
                  class="quiet small"
                  disabled={isBusy}
                  aria-label={`Remove ${labelOf(each)} from ${name}`}
                  onClick={() => change(remove, reference, `Removed ${labelOf(each)}`)}
                >
                  Remove
                </button>
              )}
            </li>
          );
        })}
      </ul>
      {add && isOffered(add) && targets.length > 0 && (
        <button type="button" class="small" disabled={isBusy} onClick={() => setPicking(true)}>
          Add…<span class="hidden"> to {name}</span>
        </button>
      )}
      {problem && <ProblemBox problem={problem} focus />}
      {isPicking && (
        <ReferencePicker title={`Add to ${name}`} targets={targets} onPick={pick} onClose={() => setPicking(false)} />
      )}
    </div>
  );
}
