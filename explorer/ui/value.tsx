import { useState } from 'preact/hooks';
import { labelOf, shortened, wordsOf } from '../model/columns.ts';
import { type Api, apiOfModel, type Catalogue, isSingle } from '../model/document.ts';
import { idIn } from '../model/key.ts';
import { modelsOf, optionsOf, propertiesOf, resolve, type Schema, typesOf } from '../model/schema.ts';
import { useApp } from './context.ts';
import { Link, Scroll } from './parts.tsx';

type Row = Readonly<Record<string, unknown>>;

interface ValueProps {
  readonly schema: Schema;
  readonly value: unknown;
  /** In lists: one line, cut early. */
  readonly compact?: boolean;
  /** Numbers that name something are not grouped. */
  readonly isKey?: boolean;
}

/** Any value from a response, always as text. */
export function Value({ schema, value, compact = false, isKey = false }: ValueProps) {
  const { catalogue } = useApp();
  if (value === undefined) return null;
  if (value === null) return <NoValue />;
  if (Array.isArray(value)) return <ListValue schema={schema} value={value} compact={compact} />;
  if (typeof value === 'object') {
    const model = modelOfRow(catalogue, schema, value as Row);
    // rows without an API of their own have no page, so all of their fields are shown here
    if (model !== null && (compact || apiOfModel(catalogue, model))) return <RowLink model={model} row={value as Row} />;
    return <ObjectValue schema={schema} value={value as Row} compact={compact} />;
  }
  if (typeof value === 'boolean') return <span class={value ? 'yes' : 'no'}>{value ? 'Yes' : 'No'}</span>;
  const own = optionsOf(catalogue.schemas, schema)[0] ?? {};
  if (typeof value === 'number') return <span class="number">{isKey ? value : numbers.format(value)}</span>;
  return <Text schema={own} text={String(value)} compact={compact} isKey={isKey} />;
}

const numbers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 20 });
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
const times = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

function NoValue() {
  return (
    <span class="none">
      <span aria-hidden="true">–</span>
      <span class="hidden">no value</span>
    </span>
  );
}

function Text({ schema, text, compact, isKey }: { schema: Schema; text: string; compact: boolean; isKey: boolean }) {
  const [isWhole, setWhole] = useState(false);
  const { contentEncoding, format } = schema;
  if (format === 'date' || format === 'date-time') return <Time text={text} format={format} />;
  if (format === 'decimal') return <span class="number">{decimalText(text)}</span>;
  if (typesOf(schema).includes('integer') && /^-?\d+$/.test(text))
    return <span class="number">{isKey ? text : BigInt(text).toLocaleString()}</span>;
  if (contentEncoding === 'base64') return <span class="soft short">{numbers.format(bytesOf(text))} bytes</span>;
  if (format === 'uuid') return <code title={text}>{compact ? `${text.slice(0, 8)}…` : text}</code>;
  if (text === '') return <span class="soft">empty text</span>;
  if (compact) return <bdi class={text.length <= shortText ? 'short' : 'clamp'}>{shortened(text, 160)}</bdi>;
  if (/^https?:\/\/[^\s<>"]+$/i.test(text) && text.length < 2000)
    return (
      <a href={text} target="_blank" rel="noopener noreferrer">
        <bdi>{text}</bdi>
      </a>
    );
  if (text.length <= longest) return <bdi class="text">{text}</bdi>;
  return (
    <span>
      <bdi class="text">{isWhole ? text : shortened(text, longest)}</bdi>{' '}
      <button type="button" class="link" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
        {isWhole ? 'Show less' : `Show all ${numbers.format(text.length)} characters`}
      </button>
    </span>
  );
}

function bytesOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
}

const longest = 1000;
/** Shorter texts stay on one line in lists. */
const shortText = 32;

function Time({ text, format }: { text: string; format: 'date' | 'date-time' }) {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return <bdi>{text}</bdi>;
  return (
    <time dateTime={text} title={text}>
      {(format === 'date' ? dates : times).format(time)}
    </time>
  );
}

/** A decimal with all its digits. */
function decimalText(text: string): string {
  const digits = /^-?\d+(?:\.(\d+))?$/.exec(text)?.[1]?.length ?? 0;
  if (!/^-?\d+(\.\d+)?$/.test(text) || digits > 20) return text;
  return new Intl.NumberFormat(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(text as never);
}

const shownItems = { compact: 2, whole: 20 };

function ListValue({ schema, value, compact }: { schema: Schema; value: readonly unknown[]; compact: boolean }) {
  const { catalogue } = useApp();
  const [isWhole, setWhole] = useState(false);
  const item = optionsOf(catalogue.schemas, schema)[0]?.items ?? {};
  if (value.length === 0) return <span class="soft">none</span>;
  const count = compact ? shownItems.compact : isWhole ? value.length : shownItems.whole;
  const rest = value.length - count;
  return (
    <ul class={compact ? 'items compact' : 'items'}>
      {value.slice(0, count).map((each, index) => (
        <li key={index}>
          <Value schema={item} value={each} compact={compact} />
        </li>
      ))}
      {rest > 0 && (
        <li>
          {compact ? (
            <span class="soft">+{numbers.format(rest)}</span>
          ) : (
            <button type="button" class="link" onClick={() => setWhole(true)}>
              Show {numbers.format(rest)} more
            </button>
          )}
        </li>
      )}
    </ul>
  );
}

function ObjectValue({ schema, value, compact }: { schema: Schema; value: Row; compact: boolean }) {
  const { catalogue } = useApp();
  const properties = propertiesOf(catalogue.schemas, schema);
  if (properties.size === 0) return <Json value={value} compact={compact} />;
  const entries = Object.entries(value);
  if (compact) {
    const texts = entries.flatMap(([, each]) => (each === null || typeof each === 'object' ? [] : [String(each)]));
    const text = shortened(texts.join(', '), 160);
    return <bdi class={text.length <= shortText ? 'short' : 'clamp'}>{text}</bdi>;
  }
  return (
    <dl class="embedded">
      {entries.map(([name, each]) => (
        <div key={name}>
          <dt>{wordsOf(name)}</dt>
          <dd>
            <Value schema={properties.get(name) ?? {}} value={each} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function Json({ value, compact = false }: { readonly value: unknown; readonly compact?: boolean }) {
  const text = JSON.stringify(value, null, compact ? 0 : 2) ?? '';
  if (compact) return <code class="clamp">{shortened(text, 120)}</code>;
  return (
    <Scroll label="JSON" class="code">
      <pre>{shortened(text, 100_000)}</pre>
    </Scroll>
  );
}

/** The body of a response, and the address where it comes from. */
export function RawJson({ value, target }: { readonly value: unknown; readonly target: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="raw" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>JSON</summary>
      {isOpen && (
        <>
          <p class="raw-link">
            <a href={target}>{target}</a>
          </p>
          <Json value={value} />
        </>
      )}
    </details>
  );
}

/** The model of a row in a field that may hold several. */
export function modelOfRow({ schemas }: Catalogue, schema: Schema, row: Row): string | null {
  const models = modelsOf(schemas, schema);
  if (models.length <= 1) return models[0] ?? null;
  const options = optionsOf(schemas, schema).filter((option) => option['x-model'] !== undefined);
  const byType = options.find(({ properties }) => row.type !== undefined && properties?.type?.const === row.type);
  const references = Object.values(schemas).filter(({ properties }) => properties?.type?.enum?.includes(row.type));
  const byReference = options.find((option) => references.some((each) => each['x-model'] === option['x-model']));
  const byShape = options.find(({ properties = {} }) => Object.keys(row).every((name) => name in properties));
  return (byType ?? byReference ?? byShape)?.['x-model'] ?? null;
}

/** Whether there is anything to see or do on the page of one row. */
export function hasEntityView(api: Api): boolean {
  return [api.get, api.patch, api.put, api.remove].some((operation) => operation !== null) || api.actions.some(isSingle);
}

export function RowLink({ model, row }: { readonly model: string; readonly row: Row }) {
  const { catalogue } = useApp();
  const api = apiOfModel(catalogue, model);
  const id = api ? idIn(row, api.key) : null;
  const text = labelOf(row, api?.key);
  const label = <bdi class={text.length <= shortText ? 'short' : undefined}>{text}</bdi>;
  // a row of another API may need other placeholders in its path
  if (!api?.get || id === null || api.get.inPath.length > 1) return label;
  return <Link to={{ kind: 'entity', api: api.name, id: String(id), query: '' }}>{label}</Link>;
}

/** The schema of a property, or anything. */
export function propertySchema(catalogue: Catalogue, schema: Schema, name: string): Schema {
  return propertiesOf(catalogue.schemas, resolve(catalogue.schemas, schema)).get(name) ?? {};
}
