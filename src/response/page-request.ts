import type { PaginationDeclaration } from '../declaration/types.ts';
import { problem } from '../errors.ts';

/** Which page of a listing is asked for. */
export interface PageRequest {
  /** From 1. */
  readonly page: number;
  readonly itemsPerPage: number;
  /** From 0. */
  readonly offset: number;
}

export const pageParameters: readonly string[] = Object.freeze(['page', 'items_per_page']);

/** Reads `page` and `items_per_page`, or throws the 400 that says what they may be. */
export function readPageRequest(query: Readonly<Record<string, unknown>>, limits: PaginationDeclaration): PageRequest {
  const itemsPerPage = readInteger(query, 'items_per_page', limits.itemsPerPage, limits.maxItemsPerPage);
  const page = readInteger(query, 'page', 1, Math.floor(Number.MAX_SAFE_INTEGER / itemsPerPage));
  return { page, itemsPerPage, offset: (page - 1) * itemsPerPage };
}

/** Refuses every query parameter that is not in the list. */
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
