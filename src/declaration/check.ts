import { resolveClass } from './names/class-names.ts';
import { unreadable } from './placeholders.ts';
import { isPlainObject } from './plain-object.ts';
import type { Report } from './report.ts';
import {
  canonicalKey,
  type Entry,
  isContainer,
  type Key,
  type MapShape,
  type ObjectShape,
  optionFor,
  type Schema,
  type Shape,
  type ShapeOf,
} from './shape.ts';
import { didYouMean, listed, nearest } from './suggest.ts';
import type { Catalog, DescribedDeclaration, Path, StandardSchema } from './vocabulary.ts';

/**
 * Checks a value against a shape, reports all errors, and fills in the defaults.
 * A wrong value counts as absent: it becomes the default, or undefined without one.
 */
export function check<T>(schema: Schema<T, unknown>, value: unknown, path: Path, context: CheckContext): T | undefined {
  return checkShape(schema, value, path, context) as T | undefined;
}

export interface CheckContext {
  readonly report: Report;
  readonly catalog: Catalog;
}

function checkShape(shape: Shape, value: unknown, path: Path, context: CheckContext): unknown {
  if (value === unreadable) return undefined;
  if (value === null && shape.nullable) return null;
  const fail = (message: string) => {
    context.report.add(path, message);
    return undefined;
  };
  const mustBe = (expected = expectedOf(shape)) => {
    const isSecret = 'secret' in shape && shape.secret === true;
    return fail(`${nameOf(path)} must be ${expected}; given: ${given(value, isSecret)}`);
  };
  switch (shape.kind) {
    case 'boolean':
      return typeof value === 'boolean' ? value : mustBe();
    case 'literal':
      return isLiteral(shape, value) ? value : mustBe();
    case 'integer':
      return isIntegerIn(value, shape.min, shape.max) ? value : mustBe();
    case 'text':
      return checkText(shape, value, mustBe);
    case 'class':
      return isNamed(value) ? resolveClass(shape.of, value, context.catalog, fail) : mustBe();
    case 'described': {
      const found = checkDescribed(shape, value, context, fail);
      return found === null ? mustBe() : found;
    }
    case 'any':
      return isPlainObject(value) ? value : mustBe();
    case 'list':
      return Array.isArray(value ?? []) ? checkList(shape, (value ?? []) as unknown[], path, context) : mustBe();
    case 'map':
      return isPlainObject(value ?? {}) ? checkMap(shape, (value ?? {}) as Mapping, path, context) : mustBe();
    case 'object':
      return isPlainObject(value ?? {}) ? checkObject(shape, (value ?? {}) as Mapping, path, context) : mustBe();
    case 'either': {
      const written = Array.isArray(value) ? 'list' : isPlainObject(value) ? 'mapping' : 'scalar';
      const option = optionFor(shape, written);
      const isMeant = written !== 'scalar' || typeof value === (option?.kind === 'boolean' ? 'boolean' : 'string');
      return option && isMeant ? checkShape(option, value, path, context) : mustBe();
    }
  }
}

/** Null if the value is not a description; undefined if it is wrong, which was reported. */
function checkDescribed(
  { around }: ShapeOf<'described'>,
  value: unknown,
  { catalog }: CheckContext,
  fail: (message: string) => undefined,
): DescribedDeclaration | undefined | null {
  const modelOf = (given: unknown, as: 'one' | ShapeOf<'described'>['around'][number]) => {
    const model = resolveClass('models', given, catalog, fail);
    return model && { kind: 'model' as const, model, as };
  };
  if (isStandardSchema(value)) return { kind: 'standard' as const, schema: value };
  if (isNamed(value)) return modelOf(value, 'one');
  if (!isPlainObject(value)) return null;
  const [key, ...others] = writtenKeys(value);
  const wrapped = others.length === 0 && around.find((name) => name === key);
  if (wrapped && isNamed(value[wrapped])) return modelOf(value[wrapped], wrapped);
  return { kind: 'json' as const, schema: JSON.parse(JSON.stringify(value)) };
}

function checkText(
  { expected, explain, pattern, values }: ShapeOf<'text'>,
  value: unknown,
  mustBe: (expected?: string) => undefined,
): unknown {
  if (typeof value !== 'string') return mustBe();
  const isAllowed = values ? values.includes(value) : !pattern || pattern.test(value);
  if (isAllowed) return value;
  const reason = values ? didYouMean(value, values).trim() : explain?.(value);
  return mustBe(reason ? `${expected} (${reason})` : expected);
}

function checkList(shape: ShapeOf<'list'>, items: readonly unknown[], path: Path, context: CheckContext): unknown {
  if (items.length < shape.min) context.report.add(path, `${nameOf(path)} must have at least one entry`);
  if (items.length > shape.max) {
    context.report.add(path, `${nameOf(path)} must be a mapping, or an empty list; given: ${given(items, false)}`);
    return undefined;
  }
  const made: unknown[] = [];
  for (const [i, item] of items.entries()) {
    const itemPath = [...path, i];
    const value = checkShape(shape.of, item, itemPath, context);
    if (value === undefined) continue;
    if (shape.entries) made.push({ key: i, path: itemPath, value } satisfies Entry<unknown>);
    else if (shape.unique && made.includes(value)) context.report.add(itemPath, `${nameOf(itemPath)} repeats an earlier item`);
    else made.push(value);
  }
  return made.length < shape.min ? undefined : made;
}

function checkMap(shape: MapShape, value: Mapping, path: Path, context: CheckContext): unknown {
  const made: Entry<unknown>[] = [];
  const keys = writtenKeys(value);
  if (keys.length < shape.min) {
    context.report.add(path, `${nameOf(path)} must have at least one entry`);
    return undefined;
  }
  for (const key of keys) {
    const keyPath = [...path, key];
    if (shape.names && !shape.names.test(key)) {
      context.report.add(keyPath, `the name "${key}" is not allowed; ${shape.namesExpected}`, 'key');
      continue;
    }
    const item = checkShape(shape.of, value[key], keyPath, context);
    if (item !== undefined) made.push({ key, path: keyPath, value: item });
  }
  return made;
}

function checkObject(shape: ObjectShape, value: Mapping, path: Path, context: CheckContext): unknown {
  const written = new Map<string, string>();
  const meant = new Set<string>();
  const allowed = Object.keys(shape.keys);
  for (const key of writtenKeys(value)) {
    const canonical = canonicalKey(shape, key);
    if (!Object.hasOwn(shape.keys, canonical)) {
      meant.add(nearest(key, allowed) ?? '');
      context.report.add([...path, key], `unknown key "${key}";${didYouMean(key, allowed)} allowed: ${listed(allowed)}`, 'key');
    } else if (written.has(canonical)) {
      context.report.add(
        [...path, key],
        `the key "${key}" is duplicated; it is also written as "${written.get(canonical)}"`,
        'key',
      );
    } else {
      written.set(canonical, key);
    }
  }
  const made: Record<string, unknown> = {};
  for (const [name, key] of Object.entries(shape.keys)) {
    const spelled = written.get(name) ?? name;
    const keyPath = [...path, spelled];
    const item = written.has(name) ? value[spelled] : undefined;
    const absent = item === undefined || (item === null && isContainer(key.shape) && !key.shape.nullable);
    if (absent && key.required && !meant.has(name)) context.report.add(path, missing(name, key));
    made[name] = (absent ? undefined : checkShape(key.shape, item, keyPath, context)) ?? defaultOf(key, item, keyPath, context);
  }
  return made;
}

function defaultOf(key: Key, item: unknown, path: Path, context: CheckContext): unknown {
  // Null survives `??` only if it was written and is allowed.
  if (item === null && key.shape.nullable) return null;
  return key.default === undefined ? undefined : checkShape(key.shape, key.default, path, context);
}

function missing(name: string, { shape, shown }: Key): string {
  const example = typeof shown === 'string' ? `, for example "${name}: ${shown}"` : '';
  return `the key "${name}" is missing: add ${expectedOf(shape)}${example}`;
}

/** The expected value in words. */
function expectedOf({ expected, nullable }: Shape): string {
  return nullable ? `${expected}, or null` : expected;
}

type Mapping = Readonly<Record<string, unknown>>;

// arktype's schemas are functions, valibot's are plain objects
function isStandardSchema(value: unknown): value is StandardSchema {
  return ((typeof value === 'object' && value !== null) || typeof value === 'function') && '~standard' in value;
}

/** Whether a value is the name of a class, a class, or an instance such as a MikroORM schema. */
function isNamed(value: unknown): boolean {
  if (typeof value !== 'object') return typeof value === 'function' || (typeof value === 'string' && value !== '');
  return value !== null && !Array.isArray(value) && !isPlainObject(value);
}

/** Leaves out keys that code sets to undefined. */
function writtenKeys(value: Mapping): string[] {
  return Object.keys(value).filter((key) => value[key] !== undefined);
}

function isLiteral({ any, several }: ShapeOf<'literal'>, value: unknown): boolean {
  if (several && Array.isArray(value))
    return value.every((item) => isLiteral({ any, several: false } as ShapeOf<'literal'>, item));
  if (typeof value === 'number') return Number.isFinite(value);
  return any && (typeof value === 'string' || typeof value === 'boolean');
}

function isIntegerIn(value: unknown, min: number, max: number): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max;
}

/** `"class"`, or `"default_sort[0]"` for an item of a list. */
function nameOf(path: Path): string {
  const name = path.findLastIndex((step) => typeof step === 'string');
  return `"${path[name] ?? ''}${path
    .slice(name + 1)
    .map((index) => `[${index}]`)
    .join('')}"`;
}

function given(value: unknown, secret: boolean): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'function') return 'a class or function';
  if (typeof value === 'object') return 'a mapping';
  if (secret) return `a ${typeof value} (not shown)`;
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value);
  return String(value);
}
