import { hasCompositeId, type Operation } from './document.ts';
import { compositeId } from './key.ts';

/** The view that the address names. `query` is the query string of the request, and of the address. */
export type View =
  | { readonly kind: 'home' }
  | { readonly kind: 'list'; readonly api: string; readonly query: string }
  | { readonly kind: 'counts'; readonly api: string; readonly query: string }
  | { readonly kind: 'create'; readonly api: string; readonly query: string }
  | { readonly kind: 'entity'; readonly api: string; readonly id: string; readonly query: string }
  | { readonly kind: 'edit'; readonly api: string; readonly id: string; readonly query: string }
  | {
      readonly kind: 'action';
      readonly api: string;
      readonly id: string | null;
      readonly action: string;
      readonly method: string;
      readonly query: string;
    };

/** An id never begins with this sign unescaped, so the words that follow it cannot be ids. */
const mark = '~';
/** Browsers remove these from paths, also if they are escaped. */
const dots = /^\.{1,2}$/;
const markedDots = /^~\.{1,2}$/;

export function addressOf(mount: string, view: View): string {
  const base = `${mount}/explorer`;
  if (view.kind === 'home') return base;
  const api = `${base}/${segment(view.api)}`;
  const query = view.query === '' ? '' : `?${view.query}`;
  switch (view.kind) {
    case 'list':
      return `${api}${query}`;
    case 'counts':
      return `${api}/${mark}counts${query}`;
    case 'create':
      return `${api}/${mark}new${query}`;
    case 'entity':
      return `${api}/${segment(view.id)}${query}`;
    case 'edit':
      return `${api}/${segment(view.id)}/${mark}edit${query}`;
    case 'action': {
      const of = view.id === null ? api : `${api}/${segment(view.id)}`;
      return `${of}/${mark}${view.method.toLowerCase()}/${segment(view.action)}${query}`;
    }
  }
}

export function viewOf(mount: string, pathname: string, search: string): View {
  const parts = pathname
    .slice(`${mount}/explorer`.length)
    .split('/')
    .filter((part) => part !== '');
  const [api, second, third, fourth] = parts;
  const query = search.replace(/^\?/, '');
  if (api === undefined) return { kind: 'home' };
  const name = unescapePart(api);
  if (second === undefined) return { kind: 'list', api: name, query };
  if (second === `${mark}counts`) return { kind: 'counts', api: name, query };
  if (second === `${mark}new`) return { kind: 'create', api: name, query };
  if (second.startsWith(mark) && !markedDots.test(second) && third !== undefined)
    return {
      kind: 'action',
      api: name,
      id: null,
      action: unescapePart(third),
      method: second.slice(mark.length).toUpperCase(),
      query,
    };
  const id = markedDots.test(second) ? second.slice(mark.length) : unescapePart(second);
  if (third === `${mark}edit`) return { kind: 'edit', api: name, id, query };
  if (third?.startsWith(mark) && fourth !== undefined)
    return { kind: 'action', api: name, id, action: unescapePart(fourth), method: third.slice(mark.length).toUpperCase(), query };
  return { kind: 'entity', api: name, id, query };
}

function segment(text: string): string {
  if (dots.test(text)) return mark + text;
  return encodeURIComponent(text).replace(/^~/, '%7E').replaceAll('%2C', ',');
}

function unescapePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A query string in which brackets, commas and dots stay readable. */
export function queryText(entries: Iterable<readonly [string, string]>): string {
  const readable = (text: string) =>
    encodeURIComponent(text).replace(/%(5B|5D|2C|3A|7B|7D|40)/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
  return [...entries].map(([name, value]) => `${readable(name)}=${readable(value)}`).join('&');
}

/** The query with parameters set, or removed if they are null. Any change begins at the first page again. */
export function withParameters(query: string, changes: Readonly<Record<string, string | null>>): string {
  const kept = entriesOf(query).filter(([name]) => !Object.hasOwn(changes, name) && !pageParameters.includes(name));
  const set = Object.entries(changes).filter((entry): entry is [string, string] => entry[1] !== null);
  return queryText([...kept, ...set]);
}

/** The parameters that a link to another page sets. */
export const pageParameters: readonly string[] = ['page', 'after', 'before'];

export function entriesOf(query: string): [string, string][] {
  return [...new URLSearchParams(query)];
}

/** The query string of a link from the server, which may begin with another base URL. */
export function queryOfLink(link: string): string {
  const start = link.indexOf('?');
  return start === -1 ? '' : link.slice(start + 1);
}

/** The path of a request and its query string, without the parameters in braces, which are placeholders of the path. */
export function requestTarget(operation: Pick<Operation, 'inPath' | 'path'>, query: string, id: string | null): string {
  const entries = entriesOf(query);
  const filled = operation.path.replace(/\{([^}]+)\}/g, (whole, name: string) => {
    if (name === 'id' && id !== null && hasCompositeId(operation)) return compositeId(id.split(',').map(unescapePart));
    const value = name === 'id' && id !== null ? id : entries.find(([key]) => key === `{${name}}`)?.[1];
    return value === undefined ? whole : encodeURIComponent(value);
  });
  const sent = query
    .split('&')
    .filter((part) => part !== '' && !/^(\{|%7B)/i.test(part))
    .join('&');
  return sent === '' ? filled : `${filled}?${sent}`;
}

/** The placeholders of the base path in a query, which every view of the API keeps. */
export function placeholderQuery(query: string): string {
  return queryText(entriesOf(query).filter(([name]) => name.startsWith('{')));
}
