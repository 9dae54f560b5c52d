import type { FastifyRequest } from 'fastify';
import { type PathRules, readPath, segmentValue } from './request-path.ts';

/**
 * The parts of a composite id in the path of a request, decoded. The router decodes the whole segment, so that an encoded comma
 * could not be told from one that separates parts; so the segment is read again. Undefined if there is none.
 */
export function compositeIdIn({ params, url }: Pick<FastifyRequest, 'params' | 'url'>, rules: PathRules): string[] | undefined {
  const { id } = params as { readonly id?: string };
  if (id === undefined) return undefined;
  for (const segment of (readPath(url, rules) ?? []).toReversed()) {
    const value = segmentValue(segment);
    // the last segment also has the format
    const text = value === id ? segment : value.startsWith(`${id}.`) ? segment.slice(0, segment.lastIndexOf('.')) : undefined;
    if (text !== undefined) return text.split(',').map(segmentValue);
  }
  return undefined;
}
