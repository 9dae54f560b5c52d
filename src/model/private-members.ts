import type { Session } from 'node:inspector';
import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import type { Findings } from '../declaration/report.ts';
import { targetsOf } from './field-plan.ts';
import { entitiesOf, isKindOf } from './hierarchy.ts';
import { lineOf } from './own-code.ts';

/** The private members (`#name`) of a class and of those that it extends. */
interface PrivateMembers {
  readonly names: readonly string[];
  /** The error that the constructor throws without arguments; null: none. */
  readonly failure: unknown;
}

const none: PrivateMembers = { names: [], failure: null };
const known = new WeakMap<object, PrivateMembers>();

/** Whether objects of a class have to be made by its constructor: private members do not exist without it. */
export function hasPrivateMembers(type: object): boolean {
  return privateMembersOf(type).names.length > 0;
}

/** Has MikroORM make entities by their constructor if their class has private members. */
export function useConstructors(mapper: Mapper): void {
  for (const meta of mapper.getMetadata().getAll().values()) {
    if (!meta.class || !hasPrivateMembers(meta.class)) continue;
    meta.forceConstructor = true;
    // MikroORM does not refresh properties that it takes for constructor parameters
    meta.constructorParams = [];
  }
}

/** A factory for objects of a class with another prototype, which itself inherits from that of the class. */
export function makerFor(meta: EntityMetadata, prototype: object): () => object {
  if (!hasPrivateMembers(meta.class)) return () => Object.create(prototype);
  const columns = (meta.props as EntityProperty[]).filter(({ persist }) => persist !== false).map(({ name }) => name as string);
  function Made() {}
  Made.prototype = prototype;
  return () => {
    const made = Reflect.construct(meta.class, [], Made) as Record<string, unknown>;
    // the values that the constructor sets are for new rows
    for (const name of columns) delete made[name];
    return made;
  };
}

/** Reports private members that objects made from rows would lack. */
export function checkPrivateMembers(mapper: Mapper, findings: Findings): void {
  const entities = entitiesOf(mapper);
  for (const meta of mapper.getMetadata().getAll().values()) {
    const { failure, names } = meta.class ? privateMembersOf(meta.class) : none;
    if (names.length === 0) continue;
    const own = `${meta.className} has private members (${names.join(', ')})`;
    const remedy = "or write TypeScript's private instead of #";
    if (failure !== null || meta.class.length > 0) {
      const reason = failure === null ? 'has parameters' : `fails without arguments (${(failure as Error)?.message ?? failure})`;
      findings.add(
        ['src/models'],
        `${own}. Declarest creates them by calling the constructor, which ${reason}; write a constructor without parameters, ${remedy}`,
      );
      continue;
    }
    for (const owner of entities) {
      const referring = (owner.relations as EntityProperty[]).flatMap((property) => {
        const parent = targetsOf(property).find((target) => target.class !== meta.class && isKindOf(meta, target));
        return parent && !property.inherited && privateMembersOf(parent.class).names.length < names.length
          ? [{ parent, property }]
          : [];
      });
      const [first] = referring;
      if (!first) continue;
      const { className } = first.parent;
      findings.add(
        ['src/models'],
        `${own} that ${className} does not have, but ${owner.className}.${String(first.property.name)} refers to ${className}, and a reference is created before its class is known; ` +
          `move them to ${className}, ${remedy}`,
      );
      break;
    }
  }
}

function privateMembersOf(type: object): PrivateMembers {
  const members = known.get(type) ?? findPrivateMembers(type as new (...args: unknown[]) => object);
  known.set(type, members);
  return members;
}

/**
 * Compilers for older targets turn a private member into a WeakMap or WeakSet. The constructor adds the object to it, directly
 * (TypeScript) or by a helper (esbuild, SWC, Babel).
 */
const lowered = /\b_*(?:private_?add|class_?private)\w*\(\s*this\b|\b_\w+\.(?:set|add)\(this\b/i;

/** Only the debugger can list private members, so it inspects an instance of the class. */
function findPrivateMembers(type: new (...args: unknown[]) => object): PrivateMembers {
  const texts = lineOf(type).map((each) => Function.prototype.toString.call(each));
  // compiled members have no names
  const compiled = texts.filter((text) => lowered.test(text)).map(() => '#');
  // a class without a `#` in its source has no private members, and its constructor need not run
  if (compiled.length === 0 && !texts.some((text) => text.includes('#'))) return none;
  const made = madeBy(type, []);
  if ('instance' in made) {
    const names = privateNames(made.instance) ?? (type.length === 0 ? ['#'] : []);
    return { names: [...compiled, ...names], failure: null };
  }
  const withArguments = madeBy(
    type,
    Array.from({ length: type.length }, () => anything),
  );
  if (!('instance' in withArguments)) return compiled.length > 0 ? { names: compiled, failure: made.failure } : none;
  return { names: [...compiled, ...(privateNames(withArguments.instance) ?? [])], failure: made.failure };
}

function madeBy(type: new (...args: unknown[]) => object, args: readonly unknown[]): { instance: object } | { failure: unknown } {
  try {
    return { instance: new type(...args) };
  } catch (failure) {
    return { failure };
  }
}

/** Replaces any argument of a constructor. */
const anything: object = new Proxy(() => undefined, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => '' : anything),
  apply: () => anything,
  construct: () => anything,
});

interface Property {
  readonly name: string;
  readonly value?: { readonly objectId?: string; readonly value?: string };
}

interface Properties {
  readonly result: readonly Property[];
  readonly internalProperties?: readonly Property[];
  readonly privateProperties?: readonly Property[];
}

const inspected = Symbol.for('declarest.inspected');

/** Null: the process may not use the debugger. */
function privateNames(instance: object): string[] | null {
  const session = openSession();
  if (!session) return null;
  const holder = globalThis as { [inspected]?: object };
  holder[inspected] = instance;
  try {
    const send = <Result>(method: string, parameters: object): Result => {
      let response: unknown = null;
      // the callback runs synchronously
      session.post(method, parameters, (error, received) => {
        if (error) throw error;
        response = received;
      });
      return response as Result;
    };
    const { result } = send<{ result: { objectId: string } }>('Runtime.evaluate', {
      expression: "globalThis[Symbol.for('declarest.inspected')]",
    });
    const propertiesOf = (objectId: string) => send<Properties>('Runtime.getProperties', { objectId, ownProperties: true });
    const { internalProperties = [], privateProperties = [] } = propertiesOf(result.objectId);
    const methods = internalProperties.find(({ name }) => name === '[[PrivateMethods]]')?.value?.objectId;
    const functions = methods === undefined ? [] : propertiesOf(methods).result.flatMap(({ value }) => value?.objectId ?? []);
    const nameOf = (objectId: string) => propertiesOf(objectId).result.find(({ name }) => name === 'name')?.value?.value;
    return [...privateProperties.map(({ name }) => name), ...functions.flatMap((each) => nameOf(each) ?? [])];
  } finally {
    delete holder[inspected];
    session.disconnect();
  }
}

function openSession(): Session | null {
  try {
    const session = new (process.getBuiltinModule('node:inspector').Session)();
    session.connect();
    return session;
  } catch {
    return null;
  }
}
