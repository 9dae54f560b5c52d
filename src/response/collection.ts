import { type PageRequest, type PageToken, tokenParameters } from './page-request.ts';
import { targetOf } from './request-target.ts';

export interface Counted {
  readonly count: number;
  /** `capped`: there are more than `count`. */
  readonly is: 'exact' | 'capped' | 'estimated';
  /** The exact number of rows, if the page begins after the last one and `count` was not exact. */
  readonly end?: number;
}

/** The response to a listing. */
export interface CollectionModel<Item = unknown> {
  readonly count: number;
  /** Only if the count is not exact. */
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

/** The tokens at both ends of a page, and whether rows precede and follow it if its number and the count do not tell. */
export interface PageEdges {
  /** The token of the first row, at which the previous page ends. Null: there is none; undefined: the list has no tokens. */
  readonly first?: string | null;
  /** The token of the last row, at which the next page begins. */
  readonly last?: string | null;
  readonly earlier?: boolean;
  readonly more?: boolean;
}

export const noEdges: PageEdges = Object.freeze({ first: null, last: null });

/** Makes the collection model of a page. The links are made from `url`, the URL of the request. */
export function collectionOf<Item>(
  results: readonly Item[],
  counted: Counted,
  request: PageRequest,
  url: string,
  baseUrl: string,
  edges: PageEdges = {},
): CollectionModel<Item> {
  const { count, is } = counted;
  const { page, itemsPerPage, offset } = request;
  const more = edges.more ?? offset + itemsPerPage < count;
  const previous = previousPage(counted, request, edges);
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

/** The number of the page that `previous` leads to: from a page beyond the end, the last one with rows. */
function previousPage(counted: Counted, { page, itemsPerPage, offset }: PageRequest, edges: PageEdges): number | null {
  if (!(edges.earlier ?? page > 1)) return null;
  // rows may have been inserted before page 1: the link keeps that number, and its token finds them
  const before = Math.max(1, page - 1);
  const end = counted.end ?? (counted.is === 'exact' ? counted.count : null);
  // a token finds rows whatever the page number is
  if (end === null || end > offset || typeof edges.first === 'string') return before;
  return end === 0 ? null : Math.min(before, Math.ceil(end / itemsPerPage));
}

function tokenOf(name: PageToken['name'], text: string | null | undefined): string | null {
  if (text === undefined) return null;
  return text === null ? '' : `&${name}=${text}`;
}

/**
 * The same URL for another page; other parameters keep their places. A list without tokens (null) may have parameters of its own
 * named `after` and `before`, which stay.
 */
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
