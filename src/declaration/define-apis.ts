import type { CheckedApis } from './checked-apis.ts';
import type { RolesOf, WithRoles } from './names/role-names.ts';
import type { action, api, appMain, parameter, routes } from './schema/schema.ts';
import type { GivenTo } from './shape.ts';

/** Everything under `app_main`, for declarations in code. */
export interface AppMain extends Omit<GivenTo<typeof appMain>, 'apis'> {
  readonly apis?: Apis;
}

/** APIs by a key of your choice, or a list of APIs that each have a name. */
export type Apis = Readonly<Record<string, Api>> | readonly (Api & { readonly name: string })[];

/**
 * The parameters that a list accepts:
 * `{ filters: { 'center.id': ['in'] }, sort: ['lastName'], default_sort: ['-created'], search: ['name'] }`.
 */
export type ListOptions = Pick<GivenTo<typeof api>, 'filters' | 'sort' | 'default_sort' | 'search'>;

interface Api extends Omit<GivenTo<typeof api>, 'actions'> {
  readonly actions: Readonly<Record<string, Action | null>>;
}

interface Action extends Omit<GivenTo<typeof action>, 'parameters'> {
  /** Query parameters by their names; null means a string. */
  readonly parameters?: Readonly<Record<string, GivenTo<typeof parameter> | null>>;
  /** Another spelling of `single-collection`. */
  readonly single_collection?: 'single' | 'collection';
}

/** The entries of config/routes.yaml, in code. */
export type Routes = GivenTo<typeof routes>;

/**
 * Checks the types of API declarations in code, and returns them unchanged. Names of fields, associations and methods must exist
 * in the models and controllers, if these are given as classes and not by name. If voters are given, a role must be one of theirs
 * or begin with ROLE_. Names that the type of a model does not know, such as fields of its subclasses, are possible
 * with `as ListOptions`.
 *
 * @example
 * const apis = defineApis({ person: { class: Person, base_path: '/api/person', actions: { _index: null, _entity: null } } });
 */
export function defineApis<
  const T extends Apis,
  const Voters extends readonly { readonly roles: readonly string[] }[] = readonly [],
>(apis: T & CheckedApis<T, keyof Api, keyof Action> & WithRoles<T, RolesOf<Voters>>, _known?: { readonly voters: Voters }): T {
  return apis;
}
