import { useState } from 'preact/hooks';
import { wordsOf } from '../model/columns.ts';
import { compositeId, type Key } from '../model/key.ts';

interface IdFormProps {
  readonly idKey: Key;
  readonly label: string;
  readonly action: string;
  readonly onId: (id: string) => void;
}

/** A form for an id, with one input for each of its parts. */
export function IdForm({ action, idKey, label, onId }: IdFormProps) {
  const [parts, setParts] = useState<readonly string[]>(idKey.map(() => ''));
  const submit = (event: Event) => {
    event.preventDefault();
    event.stopPropagation();
    const texts = parts.map((part) => part.trim());
    if (!texts.includes('')) onId(texts.length === 1 ? (texts[0] as string) : compositeId(texts));
  };
  const set = (at: number, text: string) => setParts(parts.map((part, index) => (index === at ? text : part)));
  return (
    <form class="row" onSubmit={submit}>
      {idKey.map((path, index) => (
        <label class="inline" key={path}>
          {idKey.length === 1 ? label : path.split('.').map(wordsOf).join(' ')}
          <input value={parts[index]} autocomplete="off" onInput={(event) => set(index, event.currentTarget.value)} />
        </label>
      ))}
      <button type="submit">{action}</button>
    </form>
  );
}
