import type { Draft } from '../model/draft.ts';
import type { Field } from '../model/form-model.ts';

/** Messages next to fields, by property path. */
export type Faults = ReadonlyMap<string, readonly string[]>;

export interface FieldProps<Kind extends Field = Field> {
  readonly field: Kind;
  readonly draft: Draft;
  /** The property path, as violations have it: `address.city`, `tags[0]`. */
  readonly path: string;
  readonly label: string;
  readonly faults: Faults;
  readonly onChange: (draft: Draft) => void;
}

export function fieldId(path: string): string {
  return `field-${path.replace(/[^\w-]/g, '_')}`;
}

export function FaultTexts({ path, faults }: { readonly path: string; readonly faults: Faults }) {
  const messages = faults.get(path) ?? [];
  if (messages.length === 0) return null;
  return (
    <p class="fault" id={`${fieldId(path)}-fault`}>
      {messages.join(' ')}
    </p>
  );
}

/** Lists and switches always have a value; items of lists have no name. */
export function Marks({ field }: { readonly field: Field }) {
  const isMarked = field.required && field.name !== '' && field.kind !== 'boolean' && field.kind !== 'list';
  return isMarked ? <span class="mark"> required</span> : null;
}
