import { useState } from 'preact/hooks';
import type { Operation } from '../model/document.ts';
import { entriesOf, queryText, requestTarget } from '../model/location.ts';
import { useApp } from './context.ts';

interface ExportsProps {
  readonly operations: readonly Operation[];
  /** The name of the files. */
  readonly name: string;
  readonly text: string;
  readonly query: string;
}

/** Links to all rows in other formats, with the same filters and order. */
export function Exports({ operations, name: file, text, query }: ExportsProps) {
  const { announce, session } = useApp();
  const [busy, setBusy] = useState<string | null>(null);
  const targetOf = (operation: Operation) => {
    const names = new Set(operation.query.map(({ name }) => name));
    const kept = entriesOf(query).filter(([name]) => name.startsWith('{') || (names.has(name) && name !== 'items_per_page'));
    return requestTarget(operation, queryText(kept), null);
  };
  // a plain link could not send the token
  const download = async (event: Event, operation: Operation) => {
    if (session.credential === null) return;
    event.preventDefault();
    setBusy(operation.format);
    try {
      const response = await fetch(targetOf(operation), { headers: session.headers() });
      if (!response.ok) throw new Error(`status ${response.status}`);
      const address = URL.createObjectURL(await response.blob());
      const link = Object.assign(document.createElement('a'), { href: address, download: `${file}.${operation.format}` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      announce(`Exported as ${operation.format}`);
    } catch (error) {
      announce(`The export failed: ${(error as Error).message}`);
    }
    setBusy(null);
  };
  return (
    <p class="row exports">
      <span class="soft">{text}</span>
      {operations.map((operation) => (
        <a
          key={operation.path}
          href={targetOf(operation)}
          download={`${file}.${operation.format}`}
          onClick={(event) => download(event, operation)}
        >
          {operation.format.toUpperCase()}
          {busy === operation.format ? ' …' : ''}
        </a>
      ))}
    </p>
  );
}
