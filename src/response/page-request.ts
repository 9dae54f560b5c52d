import type { PaginationDeclaration } from '../declaration/types.ts';
import { problem } from '../errors.ts';

export interface PageRequest {
  /** From 1. */
  readonly page: number;
  readonly itemsPerPage: number;
  /** From 0. */
  readonly offset: number;
}

/** The value of `after` or `before` in a link, which names the row next to the page. */
export interface PageToken {
  readonly name: 'after' | 'before';
  readonly text: string;
}

export const tokenParameters: readonly string[] = Object.freeze(['after', 'before']);

export const pageParameters: readonly string[] = Object.freeze(['page', 'items_per_page', ...tokenParameters]);

/** Reads `page` and `items_per_page`; throws a 400 that states the allowed values. */
export function readPageRequest(query: Readonly<Record<string, unknown>>, limits: PaginationDeclaration): PageRequest {
  const itemsPerPage = readInteger(query, 'items_per_page', limits.itemsPerPage, limits.maxItemsPerPage);
  const page = readInteger(query, 'page', 1, Math.floor(Number.MAX_SAFE_INTEGER / itemsPerPage));
  const offset = (page - 1) * itemsPerPage;
  // with a token, the database seeks the row next to the page, so the limit on offsets does not apply
  if (limits.maxOffset > 0 && offset > limits.maxOffset && query.after === undefined && query.before === undefined)
    throw problem('offset_too_large', { limit: limits.maxOffset });
  return { page, itemsPerPage, offset };
}

/** Reads `after` or `before`, which links carry in addition to `page`; null if neither is given. */
export function readPageToken(query: Readonly<Record<string, unknown>>): PageToken | null {
  const { after, before, page } = query;
  if (after === undefined && before === undefined) return null;
  const name = after === undefined ? 'before' : 'after';
  const text = query[name];
  if (after !== undefined && before !== undefined)
    throw problem('invalid_parameter', { name, expected: 'must not be given together with "before"' });
  if (page === undefined)
    throw problem('invalid_parameter', { name, expected: 'must be given together with "page", as in the link' });
  if (typeof text !== 'string') throw invalidToken(name);
  return { name, text };
}

/** The 400 for a page token that does not belong to the list. */
export function invalidToken(name: PageToken['name']): Error {
  return problem('invalid_parameter', { name, expected: 'must be given once, as in a link of this list' });
}

/** Rejects page parameters of an export, which always returns the whole list. */
export function rejectPaging(query: Readonly<Record<string, unknown>>): void {
  const name = pageParameters.find((parameter) => query[parameter] !== undefined);
  if (name !== undefined)
    throw problem('invalid_parameter', { name, expected: 'must not be given here: an export is the whole list, without pages' });
}

/** Rejects query parameters that are not in `allowed`. */
export function checkParameters(query: Readonly<Record<string, unknown>>, allowed: readonly string[]): void {
  for (const name in query) {
    if (!allowed.includes(name)) throw problem('unknown_parameter', { name, allowed: allowed.join(', ') || 'none' });
  }
}

function readInteger(query: Readonly<Record<string, unknown>>, name: string, fallback: number, max: number): number {
  const text = query[name];
  if (text === undefined) return fallback;
  const isWhole = typeof text === 'string' && /^[1-9]\d{0,15}$/.test(text);
  if (isWhole && Number(text) <= max) return Number(text);
  throw problem('invalid_parameter', { name, expected: `must be given once, as a whole number from 1 to ${max}` });
}
