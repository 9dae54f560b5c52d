import { wordsOf } from '../model/columns.ts';
import type { Api } from '../model/document.ts';
import { useApp } from './context.ts';
import { Heading, Link } from './parts.tsx';

export function Home() {
  const { catalogue, settings } = useApp();
  return (
    <>
      <div class="view-head">
        <Heading focusKey="home">
          <bdi>{catalogue.title}</bdi>
        </Heading>
        <p class="lead">{catalogue.description ?? 'Choose an API to browse and edit its data with your own rights.'}</p>
      </div>
      <ul class="cards">
        {catalogue.apis.map((api) => (
          <li key={api.name}>
            <Link to={{ kind: 'list', api: api.name, query: '' }} class="card">
              <strong>{wordsOf(api.name)}</strong>
              <span class="soft">{api.description}</span>
              <span class="row methods">
                {methodsOf(api).map((method) => (
                  <span key={method} class="badge">
                    {method}
                  </span>
                ))}
              </span>
            </Link>
          </li>
        ))}
      </ul>
      <p class="soft">
        Version {catalogue.version} · <a href={settings.openapi}>OpenAPI document</a>
      </p>
    </>
  );
}

/** The operations of an API, in words. */
function methodsOf(api: Api): string[] {
  const offered: readonly (readonly [unknown, string])[] = [
    [api.list, 'browse'],
    [api.create, 'create'],
    [api.patch ?? api.put, 'edit'],
    [api.remove, 'delete'],
    [api.actions[0], 'actions'],
  ];
  return offered.flatMap(([operation, word]) => (operation ? [word] : []));
}
