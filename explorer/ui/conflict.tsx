import { useEffect, useRef, useState } from 'preact/hooks';
import { type Difference, differences, editedValues, writable } from '../model/changes.ts';
import { labelOf, wordsOf } from '../model/columns.ts';
import type { Api } from '../model/document.ts';
import { draftOf, type ObjectDraft } from '../model/draft.ts';
import type { FieldOf } from '../model/form-model.ts';
import { useApp } from './context.ts';
import { propertySchema, Value } from './value.tsx';

type Row = Readonly<Record<string, unknown>>;

interface ConflictProps {
  readonly api: Api;
  readonly form: FieldOf<'object'>;
  /** The row as it was loaded. */
  readonly base: Row;
  /** The row as it is stored now. */
  readonly theirs: Row;
  readonly draft: ObjectDraft;
  readonly onChoice: (draft: ObjectDraft) => void;
}

/** Both versions side by side, field by field: the user chooses. */
export function Conflict({ api, form, base, theirs, draft, onChoice }: ConflictProps) {
  const [mine, setMine] = useState<ReadonlySet<string>>(new Set());
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => ref.current?.focus(), [theirs]);
  const { values } = editedValues(form, base, draft);
  const found = differences(writable(form, base), values, writable(form, theirs));
  const conflicts = found.filter(({ isConflict }) => isConflict);
  const others = found.filter(({ isConflict }) => !isConflict);
  const choose = (name: string, isMine: boolean) => {
    const next = new Set(mine);
    if (isMine) next.add(name);
    else next.delete(name);
    setMine(next);
  };
  const apply = () => {
    const now = draftOf(form, theirs, labelOf) as ObjectDraft;
    const taken = new Set(found.filter(({ name }) => !mine.has(name)).map(({ name }) => name));
    const fields = Object.entries(draft.fields).map(
      ([name, own]) => [name, taken.has(name) ? (now.fields[name] ?? null) : own] as const,
    );
    onChoice({ type: draft.type, fields: Object.fromEntries(fields) });
  };
  return (
    <section class="conflict" aria-labelledby="conflict-title">
      <h2 id="conflict-title" ref={ref} tabIndex={-1}>
        Somebody else changed this in the meantime
      </h2>
      {conflicts.length === 0 ? (
        <p>None of the fields that you changed is affected.</p>
      ) : (
        <>
          <p>Choose a version of each field that both of you changed.</p>
          <div class="versions">
            {conflicts.map((difference) => (
              <Choice
                key={difference.name}
                api={api}
                difference={difference}
                draft={draft}
                form={form}
                base={theirs}
                isMine={mine.has(difference.name)}
                onChoice={(isMine) => choose(difference.name, isMine)}
              />
            ))}
          </div>
        </>
      )}
      {others.length > 0 && (
        <p class="soft">Also changed there, and kept: {others.map(({ name }) => wordsOf(name)).join(', ')}.</p>
      )}
      <p class="row">
        <button type="button" class="primary" onClick={apply}>
          Save with these choices
        </button>
      </p>
    </section>
  );
}

interface ChoiceProps {
  readonly api: Api;
  readonly form: FieldOf<'object'>;
  readonly difference: Difference;
  readonly draft: ObjectDraft;
  readonly base: Row;
  readonly isMine: boolean;
  readonly onChoice: (isMine: boolean) => void;
}

function Choice({ api, difference, draft, base, isMine, onChoice }: ChoiceProps) {
  const { catalogue } = useApp();
  const { name } = difference;
  const schema = propertySchema(catalogue, api.item, name);
  const own = draft.fields[name];
  const label = typeof own === 'object' && own !== null && 'label' in own ? own.label : null;
  return (
    <fieldset>
      <legend>{wordsOf(name)}</legend>
      <label class={isMine ? 'version' : 'version chosen'}>
        <input type="radio" name={`version-${name}`} checked={!isMine} onChange={() => onChoice(false)} />
        <span class="soft">Stored now</span>
        <Value schema={schema} value={base[name]} compact />
      </label>
      <label class={isMine ? 'version chosen' : 'version'}>
        <input type="radio" name={`version-${name}`} checked={isMine} onChange={() => onChoice(true)} />
        <span class="soft">Yours</span>
        {label === null ? <Value schema={schema} value={difference.mine} compact /> : <bdi>{label}</bdi>}
      </label>
    </fieldset>
  );
}
