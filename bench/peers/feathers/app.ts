// Feathers 5 on Koa with @feathersjs/knex, as its documentation advises: schemas for queries and data, a virtual property
// whose resolver calls the other service.
import { feathers } from '@feathersjs/feathers';
import { KnexService } from '@feathersjs/knex';
import { bodyParser, errorHandler, koa, rest } from '@feathersjs/koa';
import { Ajv, getValidator, hooks, querySyntax, resolve, virtual } from '@feathersjs/schema';
import knex from 'knex';
import pg from 'pg';

pg.types.setTypeParser(pg.types.builtins.DATE, (text: string) => text);
const Model = knex({ client: 'pg', connection: process.env.DATABASE_URL, pool: { min: 2, max: 10 } });
const app = koa(feathers());
app.use(errorHandler());
app.use(bodyParser());
app.configure(rest());

const paginate = { default: 20, max: 100 };
app.use('centers', new KnexService({ Model, name: 'center', id: 'id', paginate }));
app.use('people', new KnexService({ Model, name: 'person', id: 'id', paginate }));

const result = resolve({
  center: virtual(async (person, context) => context.app.service('centers').get(person.center_id)),
  center_id: async () => undefined,
});
const string = { type: 'string' };
const number = { type: 'number' };
const queryable = { id: number, kind: string, email: string, last_name: string, center_id: number };
const query = getValidator(
  { $id: 'PeopleQuery', type: 'object', additionalProperties: false, properties: { ...querySyntax(queryable) } },
  new Ajv({ coerceTypes: true }),
);
const data = getValidator(
  { $id: 'PeoplePatch', type: 'object', additionalProperties: false, properties: { email: string } },
  new Ajv(),
);
app.service('people').hooks({
  around: { all: [hooks.resolveExternal(resolve({})), hooks.resolveResult(result)] },
  before: { all: [hooks.validateQuery(query)], patch: [hooks.validateData(data)] },
});

await app.listen(Number(process.env.PORT), '127.0.0.1');
