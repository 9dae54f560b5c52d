import { useEffect, useRef, useState } from 'preact/hooks';
import { wordsOf } from '../model/columns.ts';
import { useApp } from './context.ts';
import { Link } from './parts.tsx';

/** A filter is offered for more APIs than fit on a screen. */
const many = 15;

/** The APIs on the left; on narrow screens, a menu that opens. */
export function Sidebar() {
  const { catalogue, view } = useApp();
  const [filter, setFilter] = useState('');
  const [isOpen, setOpen] = useState(false);
  const list = useRef<HTMLUListElement>(null);
  const current = view.kind === 'home' ? null : view.api;
  useEffect(() => {
    setOpen(false);
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [current]);
  const shown = catalogue.apis.filter(({ name }) => `${name} ${wordsOf(name)}`.toLowerCase().includes(filter.toLowerCase()));
  return (
    <nav class={isOpen ? 'sidebar open' : 'sidebar'} aria-label="APIs">
      <button type="button" class="sidebar-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span>{current === null ? 'APIs' : wordsOf(current)}</span> <span aria-hidden="true">▾</span>
      </button>
      <div class="sidebar-body">
        {catalogue.apis.length > many && (
          <input
            type="search"
            aria-label="Filter APIs"
            placeholder={`Filter ${catalogue.apis.length} APIs`}
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
        )}
        <ul ref={list}>
          {shown.map(({ name }) => (
            <li key={name}>
              <Link to={{ kind: 'list', api: name, query: '' }} current={name === current}>
                <bdi>{wordsOf(name)}</bdi>
              </Link>
            </li>
          ))}
        </ul>
        {shown.length === 0 && <p class="soft">No API has this name.</p>}
      </div>
    </nav>
  );
}
