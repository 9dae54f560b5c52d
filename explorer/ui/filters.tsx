import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { columnsOf, wordsOf } from '../model/columns.ts';
import type { Api, Operation } from '../model/document.ts';
import { activeFilters, type Filter, filtersOf, sortsOf } from '../model/filters.ts';
import { keyFields } from '../model/key.ts';
import { entriesOf, withParameters } from '../model/location.ts';
import { useApp } from './context.ts';
import { Checks } from './parts.tsx';

interface FiltersProps {
  readonly api: Api;
  readonly list: Operation;
  readonly query: string;
  /** The rows of the page, which show what the caller may name. */
  readonly rows: readonly unknown[];
  /** Parameters with controls elsewhere. */
  readonly others?: readonly string[];
  readonly onQuery: (query: string, replace?: boolean) => void;
  /** Further controls. */
  readonly children?: ComponentChildren;
}

/** Search, filters, order and columns of a list. All of them stand in the address. */
export function Filters({ api, list, query, rows, others = [], onQuery, children }: FiltersProps) {
  const known = filtersOf(list, rows);
  const active = activeFilters(query, others);
  const [added, setAdded] = useState<readonly string[]>([]);
  const shown = [...new Set([...active.map(([name]) => name), ...added])];
  const rest = known.filter(({ parameter }) => !shown.includes(parameter));
  const set = (name: string, value: string | null) => {
    if (value === null) setAdded(added.filter((each) => each !== name));
    onQuery(withParameters(query, { [name]: value === '' ? null : value }));
  };
  return (
    <search class="filters">
      <div class="row tools">
        {list.query.some(({ name }) => name === 'q') && <Search list={list} query={query} onQuery={onQuery} />}
        {rest.length > 0 && (
          <select
            aria-label="Add a filter"
            class="add-filter"
            value=""
            onChange={(event) => setAdded([...added, event.currentTarget.value])}
          >
            <option value="">Add a filter…</option>
            {rest.map(({ parameter, label }) => (
              <option key={parameter} value={parameter}>
                {label}
              </option>
            ))}
          </select>
        )}
        <SortChoice list={list} query={query} rows={rows} onQuery={onQuery} />
        {list.query.some(({ name }) => name === 'fields') && (
          <ColumnChoice api={api} query={query} rows={rows} onQuery={onQuery} />
        )}
        {children}
      </div>
      {shown.length > 0 && (
        <ul class="chips">
          {shown.map((name) => (
            <FilterChip
              key={name}
              name={name}
              filter={known.find(({ parameter }) => parameter === name || `${parameter}[eq]` === name)}
              value={active.find(([each]) => each === name)?.[1] ?? ''}
              isNew={added.includes(name) && !active.some(([each]) => each === name)}
              onValue={(value) => set(name, value)}
            />
          ))}
          <li>
            <button
              type="button"
              class="link"
              onClick={() => {
                setAdded([]);
                onQuery(withParameters(query, Object.fromEntries(shown.map((name) => [name, null]))));
              }}
            >
              Remove all filters
            </button>
          </li>
        </ul>
      )}
    </search>
  );
}

function Search({ list, query, onQuery }: Omit<FiltersProps, 'api' | 'rows'>) {
  const given = new Map(entriesOf(query)).get('q') ?? '';
  const [text, setText] = useState(given);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const applied = useRef(given);
  useEffect(() => {
    // what was typed since then stays
    if (given !== applied.current) setText(given);
    applied.current = given;
  }, [given]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const apply = (value: string) => {
    clearTimeout(timer.current);
    applied.current = value;
    if (value !== given) onQuery(withParameters(query, { q: value === '' ? null : value }), true);
  };
  const change = (value: string) => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => apply(value), 300);
  };
  const description = list.query.find(({ name }) => name === 'q')?.description;
  return (
    <form
      class="search"
      onSubmit={(event) => {
        event.preventDefault();
        apply(text);
      }}
    >
      <input
        type="search"
        aria-label="Search"
        placeholder="Search"
        title={description}
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
      />
    </form>
  );
}

interface ChipProps {
  readonly name: string;
  readonly filter: Filter | undefined;
  readonly value: string;
  readonly isNew: boolean;
  readonly onValue: (value: string | null) => void;
}

function FilterChip({ name, filter, value, isNew, onValue }: ChipProps) {
  const label = filter?.label ?? name;
  const field = useRef<HTMLInputElement & HTMLSelectElement>(null);
  useEffect(() => {
    if (isNew) field.current?.focus();
  }, []);
  const { enum: values, format, type } = filter?.schema ?? {};
  const choices = type === 'boolean' ? ['true', 'false'] : values?.map(String);
  const change = (event: { currentTarget: { value: string } }) => {
    if (event.currentTarget.value !== value) onValue(event.currentTarget.value);
  };
  const id = `filter-${name.replace(/\W/g, '_')}`;
  const text = { id, ref: field, value, autocomplete: 'off', onChange: change } as const;
  return (
    <li class="chip">
      <label for={id}>
        <bdi>{label}</bdi>
      </label>
      {choices ? (
        <select id={id} ref={field} value={value} onChange={change}>
          <option value="">…</option>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice === 'true' ? 'Yes' : choice === 'false' ? 'No' : choice}
            </option>
          ))}
        </select>
      ) : format === 'date' ? (
        <input {...text} type="date" />
      ) : (
        <input {...text} type="text" inputMode={type === 'integer' ? 'numeric' : undefined} />
      )}
      <button type="button" class="quiet icon" aria-label={`Remove the filter ${label}`} onClick={() => onValue(null)}>
        ×
      </button>
    </li>
  );
}

function SortChoice({ list, query, rows, onQuery }: Omit<FiltersProps, 'api'>) {
  const orders = sortsOf(list, rows).flatMap((field) => [field, `-${field}`]);
  if (orders.length === 0) return null;
  const given = new Map(entriesOf(query)).get('sort') ?? '';
  return (
    <select
      aria-label="Sort by"
      value={given}
      onChange={(event) => onQuery(withParameters(query, { sort: event.currentTarget.value || null }))}
    >
      <option value="">Default order</option>
      {!orders.includes(given) && given !== '' && <option value={given}>{given}</option>}
      {orders.map((order) => (
        <option key={order} value={order}>
          {order.replace(/^-/, '').split('.').map(wordsOf).join(' › ')} {order.startsWith('-') ? '↓' : '↑'}
        </option>
      ))}
    </select>
  );
}

function ColumnChoice({ api, query, rows, onQuery }: Omit<FiltersProps, 'list'>) {
  const { catalogue } = useApp();
  const all = columnsOf(catalogue.schemas, api.row, [], null, rows).map(({ name }) => name);
  const given = new Map(entriesOf(query)).get('fields');
  const chosen = given === undefined ? all : given.split(',').map((field) => field.split('.')[0] ?? '');
  const toggle = (name: string) => {
    const next = all.filter((each) => (each === name ? !chosen.includes(each) : chosen.includes(each)));
    // rows are opened by their key
    const fields =
      next.length === all.length || next.length === 0
        ? null
        : [...new Set([...keyFields(api.key).filter((name) => all.includes(name)), ...next])].join(',');
    onQuery(withParameters(query, { fields }), true);
  };
  return (
    <Checks
      label="Columns"
      options={all.map((name) => ({
        value: name,
        label: wordsOf(name),
        isChecked: chosen.includes(name),
        isFixed: keyFields(api.key).includes(name),
      }))}
      onToggle={toggle}
    />
  );
}
