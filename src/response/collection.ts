import type { PageRequest } from './page-request.ts';
import { targetOf } from './request-target.ts';

/** The answer to a listing. */
export interface CollectionModel<Item = unknown> {
  readonly count: number;
  readonly results: readonly Item[];
  readonly pagination: {
    readonly more: boolean;
    readonly next: string | null;
    readonly previous: string | null;
    readonly first: number;
    readonly items_per_page: number;
  };
}

/** Puts a page into the collection model. `url` is the request's own, from which the links are made. */
export function collectionOf<Item>(
  results: readonly Item[],
  count: number,
  { page, itemsPerPage, offset }: PageRequest,
  url: string,
  baseUrl: string,
): CollectionModel<Item> {
  const more = offset + itemsPerPage < count;
  return {
    count,
    results,
    pagination: {
      more,
      next: more ? baseUrl + withPage(url, page + 1) : null,
      previous: page > 1 ? baseUrl + withPage(url, page - 1) : null,
      first: offset,
      items_per_page: itemsPerPage,
    },
  };
}

/** The same address for another page, with every other parameter where it was. */
function withPage(url: string, page: number): string {
  const { path, query } = targetOf(url);
  let replaced = false;
  const parameters = query
    .split('&')
    .filter((parameter) => parameter !== '')
    .map((parameter) => {
      if (nameOf(parameter) !== 'page') return parameter;
      replaced = true;
      return `page=${page}`;
    });
  if (!replaced) parameters.push(`page=${page}`);
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
