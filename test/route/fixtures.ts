import type { Server } from 'node:http';
import Fastify, { type FastifyHttpOptions, type FastifyInstance } from 'fastify';
import { defaultGroups } from '../../src/declaration/read/read-groups.ts';
import { emptyList } from '../../src/declaration/read/read-list.ts';
import type { ActionDeclaration, ApiDeclaration, Format, HttpMethod } from '../../src/declaration/types.ts';
import { Problem } from '../../src/errors.ts';
import { type MountOptions, mountRoutes } from '../../src/route/mount.ts';
import { type RouteDefinition, type RouteRecord, recordOfDefinition, recordsOf } from '../../src/route/record.ts';

export function action(name: string, given: Partial<ActionDeclaration> = {}): ActionDeclaration {
  const kind = name === '_index' ? 'index' : name === '_entity' ? 'entity' : 'custom';
  return {
    name,
    kind,
    single: kind !== 'index',
    methods: ['GET', 'HEAD'],
    roles: {},
    controllerAction: null,
    segment: null,
    requirements: {},
    validationGroups: [],
    groups: defaultGroups([]),
    repeatable: null,
    bulk: null,
    association: null,
    parameters: [],
    list: kind === 'index' ? emptyList : null,
    formats: ['json'],
    descriptions: {},
    operationIds: {},
    hidden: false,
    body: null,
    result: null,
    path: ['app_main', 'apis', 'x', 'actions', name],
    ...given,
  };
}

export function api(name: string, actions: readonly ActionDeclaration[], given: Partial<ApiDeclaration> = {}): ApiDeclaration {
  return {
    name,
    class: { name: 'Person', qualifiedName: 'src/models/person#Person', value: class {} },
    controller: null,
    basePath: `/api/${name}`,
    baseRole: null,
    pagination: { itemsPerPage: 50, maxItemsPerPage: 200, maxOffset: 0, count: 'exact', maxOrDepth: 2, maxOrGroups: 10 },
    rateLimit: null,
    requireIfMatch: false,
    nested: [],
    defaultSort: [],
    groups: defaultGroups([]),
    list: emptyList,
    formats: ['json'],
    description: null,
    actions,
    path: ['app_main', 'apis', name],
    ...given,
  };
}

export function records(apis: readonly ApiDeclaration[], formats?: readonly string[]): readonly RouteRecord[] {
  const declared = formats
    ? apis.map((one) => ({ ...one, actions: one.actions.map((given) => ({ ...given, formats: formats as readonly Format[] })) }))
    : apis;
  return recordsOf({ apis: declared });
}

export function definition(path: string, given: Partial<RouteDefinition> = {}): RouteRecord {
  const made = { name: `def_${path}`, path, methods: ['GET'] as HttpMethod[], handler: () => null, ...given };
  return recordOfDefinition(made, { formats: ['json'], controller: 'my_loader', source: ['mine', 'resource'] });
}

/** A record with any path, for what matching alone looks at. */
export function route(
  path: string,
  methods: readonly HttpMethod[] = ['GET'],
  requirements: Record<string, string> = {},
): RouteRecord {
  return definition(path, { name: path, methods, requirements });
}

/** A Fastify instance whose answers tell which record answered, and problems as they are. */
export async function serve(
  mounted: readonly RouteRecord[],
  {
    server = {},
    prefix,
    options,
    before,
  }: {
    server?: FastifyHttpOptions<Server>;
    prefix?: string;
    options?: MountOptions;
    before?: (app: FastifyInstance) => void;
  } = {},
): Promise<FastifyInstance> {
  const app = Fastify(server);
  app.setErrorHandler((error, _, reply) => {
    if (!(error instanceof Problem)) return reply.send(error);
    return reply.code(error.status).headers(error.headers).send({ code: error.code, detail: error.message });
  });
  before?.(app);
  app.register(
    async (inner) => {
      mountRoutes(
        inner,
        mounted,
        (record, method, format) => async (request) => ({
          name: record.name,
          method,
          format,
          params: request.params,
          body: request.body,
        }),
        options,
      );
    },
    prefix === undefined ? {} : { prefix },
  );
  await app.ready();
  return app;
}
