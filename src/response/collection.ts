import { type PageRequest, type PageToken, tokenParameters } from './page-request.ts';
import { targetOf } from './request-target.ts';

export interface Counted {
  readonly count: number;
  /** `capped`: there are more than that many. */
  readonly is: 'exact' | 'capped' | 'estimated';
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
  { count, is }: Counted,
  { page, itemsPerPage, offset }: PageRequest,
  url: string,
  baseUrl: string,
  edges: PageEdges = {},
): CollectionModel<Item> {
  const more = edges.more ?? offset + itemsPerPage < count;
  const earlier = edges.earlier ?? page > 1;
  return {
    count,
    ...(is !== 'exact' && { count_is: is }),
    results,
    pagination: {
      more,
      next: more ? baseUrl + withPage(url, page + 1, tokenOf('after', edges.last)) : null,
      // rows that were added before the first page are before it still
      previous: earlier ? baseUrl + withPage(url, Math.max(1, page - 1), tokenOf('before', edges.first)) : null,
      first: offset,
      items_per_page: itemsPerPage,
    },
  };
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
