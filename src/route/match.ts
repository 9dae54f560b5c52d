import { type HttpMethod, httpMethods } from '../declaration/types.ts';
import { orderRecords } from './order.ts';
import { parsePath } from './pattern.ts';
import type { RouteRecord } from './record.ts';
import { type PathRules, readPath, segmentValue } from './request-path.ts';
import { maxValueLength, requirementSource } from './requirement.ts';

/** A record that matches a path. */
export interface Match {
  readonly record: RouteRecord;
  /** The suffix; the first known format if the route has none. */
  readonly format: string;
  readonly params: Readonly<Record<string, string>>;
}

/** Why no record matches a request. */
export type Miss =
  | { readonly kind: 'method'; readonly allowed: readonly HttpMethod[] }
  /** `format` is empty if the suffix is missing. */
  | { readonly kind: 'format'; readonly format: string; readonly known: readonly string[] }
  | { readonly kind: 'nothing' };

/** The result of matching one record against a path. */
export type Trial =
  | { readonly kind: 'match'; readonly match: Match }
  | { readonly kind: 'format'; readonly format: string }
  | { readonly kind: 'requirement'; readonly name: string; readonly value: string; readonly requirement: string | undefined }
  | { readonly kind: 'path' };

interface Dynamic {
  readonly name: string;
  readonly requirement: string | undefined;
  readonly expression: RegExp;
}

interface Compiled {
  readonly record: RouteRecord;
  readonly segments: readonly (string | Dynamic)[];
  readonly formatted: boolean;
}

const compiled = new WeakMap<readonly RouteRecord[], readonly Compiled[]>();

/** The compiled records, in matching order. */
function compiledOf(records: readonly RouteRecord[]): readonly Compiled[] {
  const known = compiled.get(records);
  if (known) return known;
  const made = orderRecords(records).map(compile);
  // A list that can still change must not be cached.
  if (Object.isFrozen(records)) compiled.set(records, made);
  return made;
}

function compile(record: RouteRecord): Compiled {
  const { segments, formatted } = parsePath(record.path).pattern;
  return {
    record,
    formatted,
    segments: segments.map((segment) => {
      if ('text' in segment) return segment.text;
      const requirement = record.requirements[segment.placeholder];
      return { name: segment.placeholder, requirement, expression: new RegExp(`^${requirementSource(requirement)}$`) };
    }),
  };
}

/** Every record that matches the path with any method, in matching order. */
export function matchPath(records: readonly RouteRecord[], path: string, rules: PathRules = {}): readonly Match[] {
  return tryRecords(records, path, rules).flatMap((trial) => (trial.kind === 'match' ? [trial.match] : []));
}

/** The record that matches a request, or null. */
export function findMatch(records: readonly RouteRecord[], method: string, path: string, rules: PathRules = {}): Match | null {
  return matchPath(records, path, rules).find(({ record }) => isEnabled(record, method)) ?? null;
}

/** The methods enabled on a path, in the order they are shown. */
export function allowedMethods(records: readonly RouteRecord[], path: string, rules: PathRules = {}): readonly HttpMethod[] {
  const enabled = new Set(matchPath(records, path, rules).flatMap(({ record }) => record.methods));
  return httpMethods.filter((method) => enabled.has(method));
}

/** Why {@link findMatch} found nothing. */
export function classifyMiss(records: readonly RouteRecord[], method: string, path: string, rules: PathRules = {}): Miss {
  const allowed = allowedMethods(records, path, rules);
  if (allowed.length > 0 && !allowed.some((enabled) => enabled === method)) return { kind: 'method', allowed };
  const unknown = tryRecords(records, path, rules).filter((trial) => trial.kind === 'format');
  const [first] = unknown;
  if (!first) return { kind: 'nothing' };
  return { kind: 'format', format: first.format, known: [...new Set(unknown.flatMap(({ record }) => record.formats))] };
}

/** Matches every record against a path, in matching order. */
export function tryRecords(
  records: readonly RouteRecord[],
  path: string,
  rules: PathRules = {},
): (Trial & { readonly record: RouteRecord })[] {
  const segments = readPath(path, rules) ?? [];
  const isCaseSensitive = rules.caseSensitive !== false;
  return compiledOf(records).map((route) => ({ ...tryRoute(route, segments, isCaseSensitive), record: route.record }));
}

/** Whether a method is enabled on the record. */
export function isEnabled(record: RouteRecord, method: string): boolean {
  return record.methods.some((enabled) => enabled === method);
}

function tryRoute(route: Compiled, segments: readonly string[], caseSensitive: boolean): Trial {
  if (segments.length !== route.segments.length) return { kind: 'path' };
  const { record } = route;
  const last = segments.length - 1;
  const fold = (text: string) => (caseSensitive ? text : text.toLowerCase());
  // Null: not known yet, because the last segment is dynamic. Static segments come first: a difference there means another path.
  let ending: Ending | null = route.formatted ? null : { format: record.formats[0] ?? '', known: true };
  for (const [index, expected] of route.segments.entries()) {
    if (typeof expected !== 'string') continue;
    const actual = fold(segments[index] as string);
    if (index === last && route.formatted) ending = endingOf(fold(expected), actual, record.formats);
    else if (actual !== fold(expected)) return { kind: 'path' };
    if (index === last && ending === null) return { kind: 'path' };
  }
  const params: Record<string, string> = {};
  for (const [index, expected] of route.segments.entries()) {
    if (typeof expected === 'string') continue;
    const whole = segmentValue(segments[index] as string);
    const fits = (value: string) => value !== '' && value.length <= maxValueLength && expected.expression.test(value);
    const read = index === last && route.formatted ? readLast(whole, record.formats, fits) : { value: whole, ending };
    if (read.ending !== null) ending = read.ending;
    if (!fits(read.value))
      return { kind: 'requirement', name: expected.name, value: read.value, requirement: expected.requirement };
    params[expected.name] = read.value;
  }
  const { format, known } = ending as Ending;
  return known ? { kind: 'match', match: { record, format, params } } : { kind: 'format', format };
}

interface Ending {
  readonly format: string;
  readonly known: boolean;
}

/** The ending of a static last segment: a known format, an unknown one, or none; null if it is another segment. */
function endingOf(expected: string, actual: string, formats: readonly string[]): Ending | null {
  if (actual === expected) return { format: '', known: false };
  if (!actual.startsWith(`${expected}.`)) return null;
  const format = actual.slice(expected.length + 1);
  if (formats.includes(format)) return { format, known: true };
  return format.includes('.') ? null : { format, known: false };
}

/** Splits a dynamic last segment into value and format. */
function readLast(
  whole: string,
  formats: readonly string[],
  fits: (value: string) => boolean,
): { readonly value: string; readonly ending: Ending } {
  const known = formats.filter((format) => whole.endsWith(`.${format}`));
  for (const format of known) {
    const value = whole.slice(0, -format.length - 1);
    if (fits(value) || format === known.at(-1)) return { value, ending: { format, known: true } };
  }
  const dot = whole.lastIndexOf('.');
  const value = whole.slice(0, Math.max(dot, 0));
  if (dot === -1 || (!fits(value) && fits(whole))) return { value: whole, ending: { format: '', known: false } };
  return { value, ending: { format: whole.slice(dot + 1), known: false } };
}
