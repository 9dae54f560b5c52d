import { useState } from 'preact/hooks';
import { type Draft, localTime } from '../model/draft.ts';
import type { Field } from '../model/form-model.ts';
import { FaultTexts, type FieldProps, fieldId, Marks } from './field-parts.tsx';

/** A field with one control. */
export function Scalar({ field, draft, path, label, faults, onChange }: FieldProps) {
  const id = fieldId(path);
  const hint = hintOf(field, draft);
  const described = [hint !== null && `${id}-hint`, faults.has(path) && `${id}-fault`].filter(Boolean).join(' ') || undefined;
  return (
    <div class={field.kind === 'boolean' && !field.nullable && draft !== null ? 'field switch' : 'field'}>
      <label class="label" for={id}>
        {label}
        <Marks field={field} />
      </label>
      <Control field={field} draft={draft} id={id} described={described} isFaulty={faults.has(path)} onChange={onChange} />
      {hint !== null && (
        <span class={isTooLong(field, draft) ? 'hint over' : 'hint'} id={`${id}-hint`}>
          {hint}
        </span>
      )}
      <FaultTexts path={path} faults={faults} />
    </div>
  );
}

interface ControlProps {
  readonly field: Field;
  readonly draft: Draft;
  readonly id: string;
  readonly described: string | undefined;
  readonly isFaulty: boolean;
  readonly onChange: (draft: Draft) => void;
}

function Control({ field, draft, id, described, isFaulty, onChange }: ControlProps) {
  const common = { id, 'aria-describedby': described, 'aria-invalid': isFaulty, 'aria-required': field.required || undefined };
  const text = typeof draft === 'string' ? draft : '';
  // a field of one line would remove line breaks
  const [hasLines] = useState(text.includes('\n'));
  const typed = (event: { currentTarget: { value: string } }) => onChange(typedDraft(field, event.currentTarget.value));
  switch (field.kind) {
    case 'boolean':
      if (field.nullable || draft === null)
        return (
          <select
            {...common}
            value={draft === null ? '' : String(draft)}
            onChange={(event) => onChange(event.currentTarget.value === '' ? null : event.currentTarget.value === 'true')}
          >
            <option value="">–</option>
            <option value="true">Yes</option>
            <option value="false">No</option>
          </select>
        );
      return (
        <input {...common} type="checkbox" checked={draft === true} onChange={(event) => onChange(event.currentTarget.checked)} />
      );
    case 'choice':
      return (
        <select {...common} value={text} onChange={typed}>
          {(field.nullable || !field.required || text === '') && <option value="">–</option>}
          {field.values.map((value) => (
            <option key={String(value)} value={JSON.stringify(value)}>
              {String(value)}
            </option>
          ))}
        </select>
      );
    case 'json':
    case 'long-text':
      return (
        <textarea
          {...common}
          rows={field.kind === 'json' ? 5 : field.name === '' ? 1 : 4}
          spellcheck={field.kind === 'long-text'}
          class={field.kind}
          value={text}
          onInput={typed}
        />
      );
    case 'date':
      return <input {...common} type="date" value={text} onInput={typed} />;
    case 'date-time':
      return <input {...common} type="datetime-local" step="1" value={localTime(text)} onInput={typed} />;
    case 'time':
      return <input {...common} type="time" step="1" value={text} onInput={typed} />;
    default:
      if (hasLines) return <textarea {...common} rows={4} value={text} onInput={typed} />;
      return <input {...common} type="text" inputMode={inputModeOf(field)} autocomplete="off" value={text} onInput={typed} />;
  }
}

/** A nullable field that is emptied has no value. */
function typedDraft(field: Field, text: string): Draft {
  return text === '' && (field.nullable || field.kind === 'choice') && field.kind !== 'json' ? null : text;
}

function inputModeOf({ kind }: Field) {
  if (kind === 'integer' || kind === 'big-integer') return 'numeric' as const;
  return kind === 'number' || kind === 'decimal' ? ('decimal' as const) : undefined;
}

function isTooLong(field: Field, draft: Draft): boolean {
  return 'maxLength' in field && field.maxLength !== null && typeof draft === 'string' && draft.length > field.maxLength;
}

function hintOf(field: Field, draft: Draft): string | null {
  const parts = [field.description];
  if ('maxLength' in field && field.maxLength !== null && typeof draft === 'string' && draft.length > field.maxLength * 0.8)
    parts.push(`${draft.length} of at most ${field.maxLength} characters`);
  if (field.kind === 'json') parts.push('JSON');
  if (field.kind === 'bytes') parts.push('Bytes in base64');
  return parts.filter((part) => part !== null).join(' · ') || null;
}
