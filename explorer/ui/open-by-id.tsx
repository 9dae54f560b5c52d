import { useState } from 'preact/hooks';
import type { Api } from '../model/document.ts';
import { useApp } from './context.ts';

/** Opens one row of an API without a list. */
export function OpenById({ api, query }: { readonly api: Api; readonly query: string }) {
  const { go } = useApp();
  const [id, setId] = useState('');
  const open = (event: Event) => {
    event.preventDefault();
    if (id.trim() !== '') go({ kind: 'entity', api: api.name, id: id.trim(), query });
  };
  return (
    <form class="row" onSubmit={open}>
      <label class="inline">
        Id
        <input value={id} autocomplete="off" onInput={(event) => setId(event.currentTarget.value)} />
      </label>
      <button type="submit">Open</button>
    </form>
  );
}
