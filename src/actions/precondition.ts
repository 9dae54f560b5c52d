import { type EntityMetadata, helper } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import { type Problem, problem } from '../errors.ts';
import { isKindOf, modelName } from '../model/hierarchy.ts';
import { entityKey } from '../model/identifier.ts';
import { versionOf, versionText } from '../model/version.ts';
import { type EntityTags, markIn, type NamedTags, readTags } from '../response/entity-tag.ts';
import type { Found } from '../store/port.ts';
import type { ApiRuntime } from './start/runtime.ts';

/**
 * Rejects a change if the entity does not match the precondition of the request (RFC 9110, 13.1.1 and 13.1.2).
 *
 * Only the version of the row is compared, because the caller writes neither its embedded rows nor its format.
 */
export function checkPrecondition({ framework, meta }: ApiRuntime, request: ApiRequest, found: Versioned): void {
  const { 'if-match': match, 'if-none-match': noneMatch } = request.headers;
  if (!isConditional(request)) return;
  const mark = markOf(framework.tags, meta, found);
  const expected = match === undefined ? '*' : named('If-Match', match);
  if (!matches(expected, mark)) throw failed(meta, expected, mark);
  if (noneMatch === undefined) return;
  const excluded = named('If-None-Match', noneMatch);
  if (mark === null || matches(excluded, mark)) {
    const reason = `the ${modelName(meta)} exists, or may match the ETag in If-None-Match`;
    throw problem('precondition_failed', { reason });
  }
}

/** Whether a request has a precondition. */
export function isConditional({ headers }: ApiRequest): boolean {
  return headers['if-match'] !== undefined || headers['if-none-match'] !== undefined;
}

/** Rejects changes of versioned entities without `If-Match`, if the API requires it. */
export function requirePrecondition({ api, meta }: ApiRuntime, request: ApiRequest): void {
  if (!api.requireIfMatch || request.headers['if-match'] !== undefined || versionOf(meta) === null) return;
  throw problem('precondition_required', { model: modelName(meta) });
}

/** Rejects the creation of an entity with a tag in `If-Match`: a new entity cannot have it yet. */
export function refusePrecondition({ meta }: ApiRuntime, request: ApiRequest): void {
  const match = request.headers['if-match'];
  if (match === undefined || named('If-Match', match) === '*') return;
  const reason = `a new ${modelName(meta)} has no ETag yet; leave out If-Match`;
  throw problem('precondition_failed', { reason });
}

/** The problem for a change that came too late: 412 if the request names a version, else 409. */
export function outdated(meta: EntityMetadata, request: ApiRequest): Problem {
  return isBound(request) ? stale(meta) : problem('conflict_version', { model: modelName(meta) });
}

/** Whether a request names the version that it wants to change. */
export function isBound(request: ApiRequest): boolean {
  const match = request.headers['if-match'];
  return match !== undefined && match.trim() !== '*';
}

/** A row with the value of its version property as text, null if it has none. */
export type Versioned = Pick<Found, 'key' | 'versionText'>;

/** The part of a tag that identifies the version of a row; null if it has none. */
export function markOf(tags: EntityTags, meta: EntityMetadata, { key, versionText: version }: Versioned): string | null {
  return version === null ? null : tags.mark(meta.root.tableName, key, version);
}

/** An entity with its version. */
export function versionedEntity(entity: object, model: EntityMetadata | null): { meta: EntityMetadata; versioned: Versioned } {
  const { __meta: own } = helper(entity);
  const meta = model && isKindOf(own, model) ? model : own;
  const property = versionOf(meta);
  const version = property && versionText((entity as Record<string, unknown>)[property.name as string]);
  return { meta, versioned: { key: entityKey(entity, true), versionText: version } };
}

function named(header: string, value: string): NamedTags {
  const tags = readTags(value);
  if (!tags) throw problem('invalid_precondition', { header });
  return tags;
}

function matches(tags: NamedTags, mark: string | null): boolean {
  return tags === '*' || (mark !== null && tags.some((tag) => markIn(tag) === mark));
}

function failed(meta: EntityMetadata, tags: NamedTags, mark: string | null): Problem {
  const model = modelName(meta);
  if (mark === null) {
    const reason = `the ${model} has no version, so its ETags are weak and never match; leave out If-Match, or add a version property to the model`;
    return problem('precondition_failed', { reason });
  }
  const isWeak = tags !== '*' && tags.every(({ weak }) => weak);
  if (!isWeak) return stale(meta);
  const reason =
    'a weak ETag (W/"…") never matches; send the strong one that the server returned (a compressing proxy may have weakened it)';
  return problem('precondition_failed', { reason });
}

function stale(meta: EntityMetadata): Problem {
  const reason = `the ${modelName(meta)} has changed since it had this ETag; fetch it again and repeat the change`;
  return problem('precondition_failed', { reason });
}
