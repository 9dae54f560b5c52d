import { type PageRequest, type PageToken, tokenParameters } from './page-request.ts';
import { targetOf } from './request-target.ts';

export interface Counted {
  readonly count: number;
  /** `capped`: there are more than that many. */
  readonly is: 'exact' | 'capped' | 'estimated';
  /** How many rows there are, if the page begins after all of them and the count is not exact. */
  readonly end?: number;
}

/** The response to a listing. */
export interface CollectionModel<Item = unknown> {
  readonly count: number;
  /** Only where the count is not exact. */
  readonly count_is?: 'capped' | 'estimated';
  readonly results: readonly Item[];
  readonly pagination: {
    readonly more: boolean;
    readonly next: string | null;
    readonly previous: string | null;
    readonly first: number;
    readonly items_per_page: number;
  };
}

/** What is known of a page's surroundings, beyond its number and the count. */
export interface PageEdges {
  /** The token of the first row, which the page before ends at; null where there is none, undefined in a list that knows no tokens. */
  readonly first?: string | null;
  /** The token of the last row, which the page after begins at. */
  readonly last?: string | null;
  readonly earlier?: boolean;
  readonly more?: boolean;
}

export const noEdges: PageEdges = Object.freeze({ first: null, last: null });

/** Puts a page into the collection model. `url` is the request's own, from which the links are made. */
export function collectionOf<Item>(
  results: readonly Item[],
  counted: Counted,
  asked: PageRequest,
  url: string,
  baseUrl: string,
  edges: PageEdges = {},
): CollectionModel<Item> {
  const { count, is } = counted;
  const { page, itemsPerPage, offset } = asked;
  const more = edges.more ?? offset + itemsPerPage < count;
  const previous = previousPage(counted, asked, edges);
  return {
    count,
    ...(is !== 'exact' && { count_is: is }),
    results,
    pagination: {
      more,
      next: more ? baseUrl + withPage(url, page + 1, tokenOf('after', edges.last)) : null,
      previous: previous === null ? null : baseUrl + withPage(url, previous, tokenOf('before', edges.first)),
      first: offset,
      items_per_page: itemsPerPage,
    },
  };
}

/** The page that `previous` leads to: from a page after all rows, the last one that has any. */
function previousPage(counted: Counted, { page, itemsPerPage, offset }: PageRequest, edges: PageEdges): number | null {
  if (!(edges.earlier ?? page > 1)) return null;
  // rows that were added before the first page are before it still
  const before = Math.max(1, page - 1);
  const end = counted.end ?? (counted.is === 'exact' ? counted.count : null);
  // a token leads to rows, whatever the number of the page
  if (end === null || end > offset || typeof edges.first === 'string') return before;
  return end === 0 ? null : Math.min(before, Math.ceil(end / itemsPerPage));
}

function tokenOf(name: PageToken['name'], text: string | null | undefined): string | null {
  if (text === undefined) return null;
  return text === null ? '' : `&${name}=${text}`;
}

/** The same address for another page, with every other parameter where it was; a list that has no tokens (null) may take one of that name. */
function withPage(url: string, page: number, token: string | null): string {
  const { path, query } = targetOf(url);
  const place = `page=${page}${token ?? ''}`;
  let replaced = false;
  const parameters = query.split('&').flatMap((parameter) => {
    if (parameter === '') return [];
    const name = nameOf(parameter);
    if (token !== null && tokenParameters.includes(name)) return [];
    if (name !== 'page') return [parameter];
    replaced = true;
    return [place];
  });
  if (!replaced) parameters.push(place);
  return `${path}?${parameters.join('&')}`;
}

function nameOf(parameter: string): string {
  const name = parameter.split('=', 1)[0] as string;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
