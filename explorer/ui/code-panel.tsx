import { useState } from 'preact/hooks';
import { clientOf, curlOf, fetchOf, type SentRequest } from '../model/code.ts';
import type { Api, Operation } from '../model/document.ts';
import { useApp } from './context.ts';
import { CopyButton, Scroll } from './parts.tsx';

const kinds = ['curl', 'fetch', 'client'] as const;

/** The request of a view, ready to copy. The token is not shown. */
export function CodePanel({ api, operation, request }: { api: Api; operation: Operation; request: SentRequest }) {
  const { session, settings } = useApp();
  const [kind, setKind] = useState<(typeof kinds)[number]>('curl');
  const { credential } = session;
  const texts = {
    curl: () => curlOf(location.origin, request, credential),
    fetch: () => fetchOf(location.origin, request, credential),
    client: () => clientOf(location.origin + settings.mount, api, operation, request, credential),
  };
  const text = texts[kind]();
  return (
    <details class="code-panel">
      <summary>
        <span class={`method ${request.method.toLowerCase()}`}>{request.method}</span> <code>{request.target}</code>
      </summary>
      <div class="code-head">
        <fieldset class="segments">
          <legend class="hidden">Show the request as</legend>
          {kinds.map((each) => (
            <button type="button" key={each} aria-pressed={kind === each} onClick={() => setKind(each)}>
              {each === 'client' ? 'Typed client' : each}
            </button>
          ))}
        </fieldset>
        <CopyButton text={text} />
      </div>
      <Scroll label="Code of the request" class="code">
        <pre>{text}</pre>
      </Scroll>
    </details>
  );
}
