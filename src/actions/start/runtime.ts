import type { EntityMetadata } from '@mikro-orm/core';
import type { Guard } from '../../access/guard.ts';
import type { TokenOptions } from '../../access/token-options.ts';
import type { ApiRequest } from '../../access/user.ts';
import { AssociationReader, type Denormalizers } from '../../change/associations.ts';
import { Deserializer } from '../../change/deserializer.ts';
import type { NestedPlan } from '../../change/nested.ts';
import { Validator } from '../../change/validation.ts';
import type { Executor } from '../../database/executor.ts';
import type { Mapper } from '../../database/mapper.ts';
import type { ApiDeclaration, Declaration, HttpMethod } from '../../declaration/types.ts';
import type { FieldChoice } from '../../model/field-choice.ts';
import type { ActiveGroups } from '../../model/groups.ts';
import { metaOfEntity } from '../../model/hierarchy.ts';
import type { Identifier, IdentifierParser } from '../../model/identifier.ts';
import { guardUnloaded } from '../../model/unloaded.ts';
import type { ListPlan } from '../../query/entities/key-query.ts';
import { ReferenceResolver } from '../../query/entities/reference.ts';
import type { ListQuery } from '../../query/list/list-query.ts';
import type { Window } from '../../query/rows/seek/seek-plan.ts';
import { isSameForAll, withVisibility } from '../../query/visibility/list-visibility.ts';
import { SubjectReads } from '../../query/visibility/subject-reads.ts';
import { RequestVisibility, type Visibility, type VisibilityRule } from '../../query/visibility/visibility.ts';
import { EntityTags } from '../../response/entity-tag.ts';
import { invalidToken, type PageRequest, type PageToken } from '../../response/page-request.ts';
import { ResponseBuffer } from '../../response/response-buffer.ts';
import type { EntityLocation } from '../../route/location.ts';
import type { PathRules } from '../../route/request-path.ts';
import { type CsvColumn, csvColumns } from '../../serialization/csv.ts';
import { createSerializer, type Serializer } from '../../serialization/serializer.ts';
import type { EntityStore } from '../../store/entity-store.ts';
import type { LinkStore } from '../../store/link-store.ts';
import { PathLoader } from '../../store/load-paths.ts';
import { noteCommits, stateOf, withState } from '../../store/request-state.ts';
import type { WriteStore } from '../../store/write-store.ts';
import { type ExportPlaces, exportPlaces } from '../export/export-places.ts';
import type { GroupGrants } from '../group-grants.ts';
import type { ControllerHooks, HookName } from '../hooks.ts';
import type { ListRuntime } from './list-runtime.ts';

/** Where the application is, and whether it may use its development key. */
interface Surroundings {
  readonly directory: string;
  readonly production: boolean;
}

/** The state that all APIs of an application share. */
export class Framework {
  readonly mapper: Mapper;
  readonly declaration: Declaration;
  /** The path under which the application is mounted. */
  readonly prefix: string;
  /** How the host reads paths. */
  readonly pathRules: PathRules;
  /** Decides which rows a caller can see, also if they are embedded or referenced. */
  readonly visibility: Visibility<ApiRequest>;
  readonly #surroundings: Surroundings;
  readonly #executor: Executor | null;
  /** Reads rows as objects for code of the application; null if only MikroORM reads rows. */
  readonly subjects: SubjectReads | null;
  /** Loads the associations of subjects that voters read. */
  readonly paths: PathLoader;
  readonly associations: AssociationReader;
  readonly validator: Validator;
  readonly tags: EntityTags;
  /** Limits the memory of responses that clients have not read yet. */
  readonly responses: ResponseBuffer;
  /** Limits how many exports run at once. */
  readonly places: ExportPlaces;
  readonly #serializers = new Map<string, Serializer>();
  readonly #deserializers = new Map<string, Deserializer>();

  constructor(
    mapper: Mapper,
    declaration: Declaration,
    {
      denormalizers,
      executor,
      pathRules = {},
      places = exportPlaces(declaration),
      prefix,
      surroundings,
      visibility,
    }: {
      surroundings: Surroundings;
      visibility: Visibility<ApiRequest>;
      executor: Executor | null;
      denormalizers: Denormalizers;
      prefix: string;
      pathRules?: PathRules;
      places?: ExportPlaces | undefined;
    },
  ) {
    this.#surroundings = surroundings;
    this.visibility = visibility;
    this.#executor = executor;
    this.subjects = executor && new SubjectReads(mapper, executor);
    this.mapper = mapper;
    this.declaration = declaration;
    this.prefix = prefix;
    this.pathRules = pathRules;
    const references = new ReferenceResolver<ApiRequest>(mapper, (request) => this.visibilityOf(request));
    this.associations = new AssociationReader(mapper, references, denormalizers);
    this.validator = new Validator(mapper);
    this.paths = new PathLoader(this.subjects);
    noteCommits(mapper);
    guardUnloaded(mapper);
    this.tags = new EntityTags(secretsOf(declaration));
    this.responses = new ResponseBuffer(declaration.server);
    this.places = places;
  }

  /** A token that the application itself accepts. */
  async signToken({ sub, roles = [], ...options }: TokenOptions): Promise<string> {
    const { jwt } = this.declaration.security;
    if (jwt === null) throw new Error('security.jwt is null, so the application accepts no tokens; declare it to sign tokens');
    // loaded only by applications that sign tokens
    const { jwtSecret } = await import('../../access/jwt-keys.ts');
    const { signToken } = await import('../../access/sign-token.ts');
    const secret = await jwtSecret(jwt, this.#surroundings);
    return signToken({ ...options, secret, declaration: jwt, sub: String(sub), roles });
  }

  /** The metadata of an entity's class. */
  metaOf(entity: object): EntityMetadata {
    return metaOfEntity(this.mapper, entity);
  }

  /** The visibility of rows for the caller of a request, decided once per API and request. */
  visibilityOf(request: ApiRequest): RequestVisibility<ApiRequest> {
    const state = stateOf(request, this.mapper);
    state.visibility ??= new RequestVisibility({
      visibility: this.visibility,
      mapper: this.mapper,
      executor: this.#executor,
      subjects: this.subjects,
      request,
      em: () => state.em,
      isInTransaction: () => state.isInTransaction,
    });
    return state.visibility;
  }

  /** The serializer for a caller with these groups. */
  serializer({ embedded, read }: Pick<ActiveGroups, 'read' | 'embedded'>): Serializer {
    return remembered(this.#serializers, [read, embedded], () => createSerializer(this.mapper, read, embedded));
  }

  /** The deserializer for a caller with these groups. Its messages distinguish fields that the caller can read. */
  deserializer(groups: Pick<ActiveGroups, 'read' | 'write' | 'withheld'>): Deserializer {
    const { read, withheld = [], write } = groups;
    const make = () => new Deserializer(this.mapper, this.associations, groups);
    return remembered(this.#deserializers, [write, read, withheld], make);
  }
}

/** Secrets that all processes of the application share, and that nobody else knows. */
function secretsOf({ database, security }: Declaration): string {
  return JSON.stringify([security.jwt?.secret ?? null, security.apiKeys.map(({ key }) => key), database.url]);
}

/** The cache needs no limit: there are only a few sets of groups. */
function remembered<Value>(known: Map<string, Value>, groups: readonly (readonly string[])[], make: () => Value): Value {
  const key = JSON.stringify(groups);
  let value = known.get(key);
  if (value === undefined) {
    value = make();
    known.set(key, value);
  }
  return value;
}

/** Everything that the actions of one API need, resolved at start. */
export interface ApiRuntime {
  readonly framework: Framework;
  readonly api: ApiDeclaration;
  readonly meta: EntityMetadata;
  readonly parseId: IdentifierParser;
  /** The key in the path of a request; undefined if no row can have it. */
  readonly keyIn: (request: ApiRequest) => Identifier | undefined;
  readonly hooks: ControllerHooks;
  /** The hooks that have to be called. */
  readonly overrides: ReadonlySet<HookName>;
  /** Whether the controller restricts queries at all. */
  readonly restricts: boolean;
  /** Whether the controller loads the rows of actions with an id itself. */
  readonly loads: boolean;
  /** Whether the controller decides about access itself. */
  readonly checks: boolean;
  /** The URLs of its entities; null if they cannot be fetched. */
  readonly location: EntityLocation | null;
  /** The associations whose rows are created together with their owner. */
  readonly nested: NestedPlan;
  /** Reads and writes the model's rows as entities. */
  readonly entities: EntityStore;
  /** The same, for actions that write. */
  readonly entityWrites: WriteStore;
  readonly entityLinks: LinkStore;
  /** The rule of the API for the visibility of its rows. */
  rule(): VisibilityRule<ApiRequest>;
  /** The list of an action whose path has no id, for callers with these groups. */
  listOf(action: string, groups: ActiveGroups): ListRuntime;
  /** Decides which groups of an action apply to a caller. */
  grantsOf(action: string, method: HttpMethod): GroupGrants;
  /** The access check of an action: the declared one, or that of a controller that overrides `checkAccess`. */
  guardOf(action: string, method: HttpMethod): Guard;
  /** The access check of a row in a list that `_index` accepts with a method. It is that of a single row, with the roles of the list. */
  itemGuardOf(method: HttpMethod): Guard;
  /** The declared access check of an action. */
  declaredGuardOf(action: string, method: HttpMethod): Guard;
}

/** The CSV columns of a model: all readable fields, or the chosen ones. */
export function columnsOf(
  { framework, meta }: ApiRuntime,
  groups: ActiveGroups,
  choice: FieldChoice | null = null,
): readonly CsvColumn[] {
  return csvColumns(framework.serializer(groups).planFor(meta), choice);
}

/** The list query of a request, limited to rows that the caller can see: its filters may lead through other classes. */
export async function visibleQuery({ framework }: ApiRuntime, request: ApiRequest, asked: ListQuery): Promise<ListQuery> {
  if (!asked.condition || isSameForAll(asked.condition)) return asked;
  const { mapper } = framework;
  const state = stateOf(request, mapper);
  const visibility = framework.visibilityOf(request);
  return withState(state, () => withVisibility(asked, { mapper, visibility, em: () => state.em }));
}

/** The requested window of a list: by offset, or by the row next to it if the request follows a link. */
export function windowOf({ seek }: ListPlan, { itemsPerPage, offset }: PageRequest, token: PageToken | null): Window {
  if (!token) return { offset, limit: itemsPerPage };
  const from = seek?.read(token.text);
  if (!from) throw invalidToken(token.name);
  return { offset, limit: itemsPerPage, seek: { direction: token.name, ...from } };
}

export { userOf } from '../../access/user.ts';
