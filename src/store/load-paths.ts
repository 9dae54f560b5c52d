import { Collection, type EntityMetadata, type EntityProperty, Reference } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import { isToMany } from '../model/field-plan.ts';
import { concreteClasses } from '../model/hierarchy.ts';
import { instanceKey } from '../model/identifier.ts';
import { hasKey } from '../model/key-condition.ts';
import { loadList, populatePaths } from '../query/entities/populate-steps.ts';
import { InstanceCollection, type InstanceContext, isInstance } from '../query/rows/instance.ts';
import type { SubjectReads } from '../query/visibility/subject-reads.ts';

type Loaded = Record<string, unknown>;

/** Loads associations of rows for code that declares what it reads. */
export class PathLoader {
  readonly #subjects: SubjectReads | null;

  constructor(subjects: SubjectReads | null) {
    this.#subjects = subjects;
  }

  /** Loads paths such as `captain.boss` from an entity, or from an object made of a row. Paths of other models are ignored. */
  async load(subject: object, paths: readonly string[], em: () => RequestEntityManager): Promise<void> {
    const meta = (subject as { __meta?: EntityMetadata }).__meta;
    if (!meta) return;
    const known = paths.filter((path) => meta.properties[path.split('.')[0] as never]);
    if (!isInstance(subject)) {
      if (known.length > 0) await populatePaths(em(), [subject], known);
      return;
    }
    const byFirst = Map.groupBy(known, (path) => path.split('.')[0] as string);
    for (const [name, group] of byFirst) {
      const rest = group.flatMap((path) => (path.includes('.') ? [path.slice(name.length + 1)] : []));
      await this.#loadOne(subject as Loaded, meta.properties[name as never] as EntityProperty, rest, em);
    }
  }

  /** Loads paths from many entities of one model, with one statement for each association. */
  async loadAll(entities: readonly object[], paths: readonly string[], em: RequestEntityManager): Promise<void> {
    await populatePaths(em, entities, paths);
  }

  async #loadOne(
    instance: Loaded,
    property: EntityProperty,
    rest: readonly string[],
    em: () => RequestEntityManager,
  ): Promise<void> {
    const name = property.name as string;
    const value = instance[name];
    if (value instanceof Collection) {
      const init = () =>
        value instanceof InstanceCollection ? value.initBy((managed) => loadList(em(), managed)) : value.init();
      const items = (value.isInitialized() ? value : await init()).getItems() as object[];
      if (rest.length > 0) await populatePaths(em(), items, rest);
      return;
    }
    const target = value === null || value === undefined ? null : (Reference.unwrapReference(value as object) as Loaded);
    if (!target || property.mapToPk || isToMany(property)) return;
    const loaded = await this.#row(target, { em });
    if (!loaded) return;
    instance[name] = property.ref ? Reference.create(loaded as never) : loaded;
    await this.load(loaded, rest, em);
  }

  /** The row of a reference. */
  async #row(reference: Loaded, context: InstanceContext): Promise<object | null> {
    const meta = reference.__meta as EntityMetadata;
    const key = instanceKey(meta, reference);
    const rows = await this.#subjects?.rows(meta, [key], context);
    if (rows) return rows.get(String(key)) ?? null;
    return (await context.em().findOne(meta.class, hasKey(meta, key))) as object | null;
  }
}

/** Whether a path of associations leads from a model, or from a class that inherits from it, to rows of others. */
export function isPath(mapper: Mapper, meta: EntityMetadata, path: string): boolean {
  const [first, ...rest] = path.split('.') as [string, ...string[]];
  return concreteClasses(mapper, meta).some((concrete) => {
    const property = concrete.properties[first as never] as EntityProperty | undefined;
    if (!property?.targetMeta || property.targetMeta.embeddable) return false;
    return rest.length === 0 || isPath(mapper, property.targetMeta, rest.join('.'));
  });
}

/** The associations that a path could continue with where it first goes wrong, as whole paths. */
export function pathsNear(mapper: Mapper, meta: EntityMetadata, path: string): string[] {
  const [first, ...rest] = path.split('.') as [string, ...string[]];
  const associations = concreteClasses(mapper, meta).flatMap(({ relations }) => relations as EntityProperty[]);
  const next = associations.find(({ name }) => name === first)?.targetMeta;
  // MikroORM names the other side of an association so, if the model does not
  const named = associations.map(({ name }) => name as string).filter((name) => !name.endsWith('__inverse'));
  if (!next || rest.length === 0) return named;
  return pathsNear(mapper, next, rest.join('.')).map((name) => `${first}.${name}`);
}
