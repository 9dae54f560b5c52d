import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import type { Creatable, Create } from '../declaration/names/create.ts';
import type { Catalog } from '../declaration/types.ts';
import { type Problem, problem } from '../errors.ts';
import { concreteClasses, type ModelClass } from '../model/hierarchy.ts';
import type { ReferenceResolver, Resolution } from '../query/entities/reference.ts';
import { type Denormalizer, isDenormalizerClass } from '../serialization/denormalizer.ts';
import type { ResolveAssociation } from './body-reader.ts';
import type { AssociationWrite } from './write-plan.ts';

/** The application's denormalizers, by the `Model.property` or the action that they serve. */
export type Denormalizers = ReadonlyMap<string, Denormalizer>;

type DenormalizerClass = Creatable<Denormalizer> & typeof Denormalizer;

/** The classes of the denormalizers that an application exports, by the associations and actions that they serve. */
export function denormalizerClasses(exported: Catalog['denormalizers']): ReadonlyMap<string, DenormalizerClass> {
  const classes = exported.flatMap(({ value }) => (isDenormalizerClass(value) ? [value] : []));
  return new Map(classes.flatMap((type) => servedBy(type).map((served) => [served, type] as const)));
}

function servedBy({ actions, properties }: DenormalizerClass): string[] {
  return [...properties, ...actions.map((action) => `action ${action}`)];
}

/** One denormalizer of each class, by the associations and actions that it serves. */
export function denormalizersOf(exported: Catalog['denormalizers'], create: Create): Denormalizers {
  const classes = denormalizerClasses(exported);
  const made = new Map([...new Set(classes.values())].map((type) => [type, create(type)] as const));
  return new Map([...classes].map(([property, type]) => [property, made.get(type) as Denormalizer]));
}

/** The denormalizer of an association: that of the class itself, else that of a class from which it inherits. */
export function denormalizerOf<Serving>(
  serving: ReadonlyMap<string, Serving>,
  owner: EntityMetadata,
  property: string,
): Serving | undefined {
  for (let type = owner.class as { name: string } | null; type?.name; type = Object.getPrototypeOf(type)) {
    const found = serving.get(`${type.name}.${property}`);
    if (found) return found;
  }
  return undefined;
}

/** The denormalizer of the body of an action, named as `api.action`. */
export function bodyDenormalizerOf<Serving>(serving: ReadonlyMap<string, Serving>, action: string): Serving | undefined {
  return serving.get(`action ${action}`);
}

interface Scope {
  readonly em: RequestEntityManager;
  readonly request: ApiRequest;
}

/** Resolves the JSON of associations to entities: by the application's denormalizer if there is one, else by `id` and `type`. */
export class AssociationReader {
  readonly #mapper: Mapper;
  readonly #resolver: ReferenceResolver<ApiRequest>;
  readonly #denormalizers: Denormalizers;

  constructor(mapper: Mapper, resolver: ReferenceResolver<ApiRequest>, denormalizers: Denormalizers) {
    this.#mapper = mapper;
    this.#resolver = resolver;
    this.#denormalizers = denormalizers;
  }

  /** Whether a denormalizer reads the JSON of an association: then it can be any JSON. */
  denormalizes(owner: EntityMetadata, property: string): boolean {
    return denormalizerOf(this.#denormalizers, owner, property) !== undefined;
  }

  /** Whether a denormalizer reads the body of an action, named as `api.action`. */
  denormalizesBody(action: string): boolean {
    return bodyDenormalizerOf(this.#denormalizers, action) !== undefined;
  }

  get references(): ReferenceResolver<ApiRequest> {
    return this.#resolver;
  }

  /** For the fields of a class: a reference that does not resolve throws 400 with the name of the field. */
  forFieldsOf(owner: EntityMetadata): ResolveAssociation {
    // an association of an embeddable can have the same name as one of the class
    const denormalizerFor = ({ metadata, property }: AssociationWrite) =>
      owner.properties[property as never] === metadata ? denormalizerOf(this.#denormalizers, owner, property) : undefined;
    return {
      denormalizes: (field) => denormalizerFor(field) !== undefined,
      entity: async (field, json, path, scope) => {
        const resolution = await this.#read(denormalizerFor(field), field.targets, json, scope);
        return entityOf(resolution, () => this.refusal(resolution, field.targets, path));
      },
      load: async (field, items, { em, request }) => {
        if (!denormalizerFor(field)) await this.#resolver.load(em, request, field.targets, items);
      },
    };
  }

  /** For the body of an add or remove action: a body that does not resolve throws 400 with the message of the action. */
  async item(
    owner: EntityMetadata,
    property: string,
    targets: readonly EntityMetadata[],
    json: unknown,
    scope: Scope,
    action: string,
  ): Promise<object> {
    const own = bodyDenormalizerOf(this.#denormalizers, action) ?? denormalizerOf(this.#denormalizers, owner, property);
    const resolution = await this.#read(own, targets, json, scope);
    return entityOf(resolution, () => this.itemRefusal(resolution, targets));
  }

  /** For a body that identifies an entity of one of the classes, for any purpose. */
  async reference(
    targets: readonly EntityMetadata[],
    json: unknown,
    scope: Scope,
    action: string | null = null,
  ): Promise<object> {
    const own = action === null ? undefined : bodyDenormalizerOf(this.#denormalizers, action);
    const resolution = await this.#read(own, targets, json, scope);
    return entityOf(resolution, () => this.itemRefusal(resolution, targets));
  }

  async #read(
    denormalizer: Denormalizer | undefined,
    targets: readonly EntityMetadata[],
    json: unknown,
    { em, request }: Scope,
  ): Promise<Resolution> {
    if (!denormalizer) return this.#resolver.resolve(em, request, targets, json);
    const types = targets.map((meta) => meta.class as unknown as ModelClass);
    const entity = await denormalizer.denormalize(json, types, {
      em,
      request,
      resolve: async (reference, among = types) => {
        const metas = among.map((type) => this.#mapper.getMetadata().get(type as never) as EntityMetadata);
        const resolution = await this.#resolver.resolve(em, request, metas, reference);
        return 'entity' in resolution ? resolution.entity : null;
      },
    });
    if (!entity) return { missing: true };
    const allowed = targets.flatMap((meta) => concreteClasses(this.#mapper, meta));
    if (!allowed.some((meta) => entity instanceof meta.class)) {
      throw new TypeError(
        `${denormalizer.constructor.name} returned something other than ${allowed.map((meta) => meta.className).join(', ')}`,
      );
    }
    return { entity };
  }

  /** The 400 for a field of a body. */
  refusal(resolution: Resolution, targets: readonly EntityMetadata[], path: string): Problem {
    if ('noObject' in resolution) return problem('invalid_reference', { field: path, reason: 'must be an object with an id' });
    if ('unknownKey' in resolution) {
      const reason = `must contain only id and type: "${resolution.unknownKey}" would change the linked ${this.#resolver.nameOf(targets)}`;
      return problem('invalid_reference', { field: path, reason });
    }
    const types = this.#resolver.typesOf(targets);
    const hint = types.length > 1 ? `; type is one of: ${types.join(', ')}` : '';
    return problem('invalid_reference', {
      field: path,
      reason: `does not resolve: ${this.#resolver.nameOf(targets)} id not found${hint}`,
    });
  }

  /** The 400 for a body that must identify an entity. */
  itemRefusal(resolution: Resolution, targets: readonly EntityMetadata[]): Problem {
    if ('unknownKey' in resolution) return problem('unknown_field', { field: resolution.unknownKey, allowed: 'type, id' });
    if ('noObject' in resolution) return problem('invalid_body', { reason: 'send {"type": …, "id": …}' });
    return problem('reference_not_found', { model: this.#resolver.nameOf(targets) });
  }
}

function entityOf(resolution: Resolution, refusal: () => Error): object {
  if ('entity' in resolution) return resolution.entity;
  throw refusal();
}
