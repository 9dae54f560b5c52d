import { useState } from 'preact/hooks';
import { wordsOf } from '../model/columns.ts';
import { type Draft, draftOf, type ObjectDraft, type ReferenceDraft, variantOf } from '../model/draft.ts';
import type { Field, FieldOf } from '../model/form-model.ts';
import { FaultTexts, type FieldProps, fieldId, Marks } from './field-parts.tsx';
import { ReferencePicker } from './reference-picker.tsx';
import { Scalar } from './scalar-field.tsx';

export function FieldInput(props: FieldProps) {
  const { field } = props;
  switch (field.kind) {
    case 'constant':
      return null;
    case 'object':
      return <ObjectField {...props} field={field} />;
    case 'list':
      return <ListField {...props} field={field} />;
    case 'reference':
      return <ReferenceField {...props} field={field} />;
    default:
      return <Scalar {...props} />;
  }
}

/** The fields of an object. The outermost one is the form itself. */
export function ObjectFields({ field, draft, path, faults, onChange }: Omit<FieldProps<FieldOf<'object'>>, 'label'>) {
  const object = draft as ObjectDraft;
  const variant = variantOf(field, object.type);
  const setType = (type: string) => {
    // what both classes have stays
    const fields = variantOf(field, type).fields.map(
      (each) => [each.name, object.fields[each.name] ?? draftOf(each, undefined, String)] as const,
    );
    onChange({ type, fields: { ...object.fields, ...Object.fromEntries(fields) } });
  };
  return (
    <>
      {field.variants.length > 1 && (
        <label class="field">
          <span class="label">{wordsOf(field.typeKey ?? 'type')}</span>
          <select id={fieldId(`${path}type`)} value={object.type ?? ''} onChange={(event) => setType(event.currentTarget.value)}>
            {field.variants.map(({ type }) => (
              <option key={type} value={type ?? ''}>
                {wordsOf(type ?? '')}
              </option>
            ))}
          </select>
        </label>
      )}
      {variant.fields.map((each) => (
        <FieldInput
          key={each.name}
          field={each}
          draft={object.fields[each.name] ?? null}
          path={path === '' ? each.name : `${path}.${each.name}`}
          label={wordsOf(each.name)}
          faults={faults}
          onChange={(next) => onChange({ ...object, fields: { ...object.fields, [each.name]: next } })}
        />
      ))}
    </>
  );
}

function ObjectField({ field, draft, path, label, faults, onChange }: FieldProps<FieldOf<'object'>>) {
  return (
    <fieldset class="group">
      <legend>
        {label}
        <Marks field={field} />
      </legend>
      {field.description !== null && <p class="hint">{field.description}</p>}
      {draft === null ? (
        <button type="button" class="small" onClick={() => onChange(draftOf(field, {}, String))}>
          Add {label.toLowerCase()}
        </button>
      ) : (
        <>
          <ObjectFields field={field} draft={draft} path={path} faults={faults} onChange={onChange} />
          {(field.nullable || !field.required) && (
            <button type="button" class="small quiet" onClick={() => onChange(null)}>
              Remove {label.toLowerCase()}
            </button>
          )}
        </>
      )}
      <FaultTexts path={path} faults={faults} />
    </fieldset>
  );
}

function ListField({ field, draft, path, label, faults, onChange }: FieldProps<FieldOf<'list'>>) {
  const items = Array.isArray(draft) ? (draft as readonly Draft[]) : [];
  const [isPicking, setPicking] = useState(false);
  const { item } = field;
  const add = () => (item.kind === 'reference' ? setPicking(true) : onChange([...items, emptyItem(item)]));
  return (
    <fieldset class="group">
      <legend>
        {label}
        <Marks field={field} />
      </legend>
      {field.description !== null && <p class="hint">{field.description}</p>}
      <ul class="list-items">
        {items.map((each, index) => (
          <li key={index}>
            {item.kind === 'reference' ? (
              <>
                <bdi>{(each as ReferenceDraft | null)?.label}</bdi>
                <FaultTexts path={`${path}[${index}]`} faults={faults} />
              </>
            ) : (
              <FieldInput
                field={item}
                draft={each}
                path={`${path}[${index}]`}
                label={`${label} ${index + 1}`}
                faults={faults}
                onChange={(next) => onChange(items.map((other, at) => (at === index ? next : other)))}
              />
            )}
            <button
              type="button"
              class="quiet small"
              aria-label={`Remove item ${index + 1} of ${label}`}
              onClick={() => onChange(items.filter((_, at) => at !== index))}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      <button type="button" class="small" onClick={add}>
        Add…<span class="hidden"> to {label}</span>
      </button>
      <FaultTexts path={path} faults={faults} />
      {isPicking && item.kind === 'reference' && (
        <ReferencePicker
          title={`Add to ${label}`}
          targets={item.targets}
          onClose={() => setPicking(false)}
          onPick={(reference) => {
            setPicking(false);
            onChange([...items, reference]);
          }}
        />
      )}
    </fieldset>
  );
}

function ReferenceField({ field, draft, path, label, faults, onChange }: FieldProps<FieldOf<'reference'>>) {
  const [isPicking, setPicking] = useState(false);
  const reference = draft as ReferenceDraft | null;
  const id = fieldId(path);
  return (
    <div class="field">
      <span class="label" id={`${id}-label`}>
        {label}
        <Marks field={field} />
      </span>
      <div class="row">
        <button
          type="button"
          id={id}
          class="reference"
          aria-labelledby={`${id}-label ${id}`}
          aria-describedby={faults.has(path) ? `${id}-fault` : undefined}
          onClick={() => setPicking(true)}
        >
          {reference ? <bdi>{reference.label || String(reference.id)}</bdi> : <span class="soft">Choose…</span>}
        </button>
        {reference && (field.nullable || !field.required) && (
          <button type="button" class="quiet small" onClick={() => onChange(null)} aria-label={`Clear ${label}`}>
            Clear
          </button>
        )}
      </div>
      {field.description !== null && <span class="hint">{field.description}</span>}
      <FaultTexts path={path} faults={faults} />
      {isPicking && (
        <ReferencePicker
          title={label}
          targets={field.targets}
          onClose={() => setPicking(false)}
          onPick={(picked) => {
            setPicking(false);
            onChange(picked);
          }}
        />
      )}
    </div>
  );
}

/** A new item of a list: an object with all its fields, or an empty value. */
function emptyItem(field: Field): Draft {
  if (field.kind === 'object') return draftOf(field, {}, String);
  return field.kind === 'boolean' ? false : '';
}
