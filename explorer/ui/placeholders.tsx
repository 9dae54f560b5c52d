import { wordsOf } from '../model/columns.ts';
import { type Operation, placeholdersOf } from '../model/document.ts';
import { entriesOf, withParameters } from '../model/location.ts';
import { useApp } from './context.ts';

/** The placeholders of the base path that have no value yet. Dots alone would lead to another path. */
export function missingPlaceholders(operation: Operation, query: string): readonly string[] {
  const given = new Map(entriesOf(query));
  return placeholdersOf(operation)
    .map(({ name }) => name)
    .filter((name) => /^\.{0,2}$/.test(given.get(`{${name}}`) ?? ''));
}

/** Asks for the placeholders of a base path such as `/api/{region}/course`. */
export function Placeholders({ operation, query }: { readonly operation: Operation; readonly query: string }) {
  const { go, view } = useApp();
  const given = new Map(entriesOf(query));
  const submit = (event: Event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const changes = Object.fromEntries([...form].map(([name, value]) => [`{${name}}`, String(value) || null]));
    if (view.kind !== 'home') go({ ...view, query: withParameters(query, changes) });
  };
  return (
    <form class="row notice" onSubmit={submit}>
      {placeholdersOf(operation).map(({ name }) => (
        <label class="inline" key={name}>
          {wordsOf(name)}
          <input name={name} defaultValue={given.get(`{${name}}`) ?? ''} required autocomplete="off" />
        </label>
      ))}
      <button type="submit">Show</button>
    </form>
  );
}
