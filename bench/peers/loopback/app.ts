// LoopBack 4 with @loopback/rest-crud over its PostgreSQL connector. A list has no count, so the count is a second request.
import { inject } from '@loopback/core';
import {
  type BelongsToAccessor,
  belongsTo,
  DefaultCrudRepository,
  Entity,
  type Getter,
  juggler,
  model,
  property,
  RepositoryMixin,
  repository,
} from '@loopback/repository';
import { RestApplication } from '@loopback/rest';
import { defineCrudRestController } from '@loopback/rest-crud';

@model({ settings: { postgresql: { table: 'center' } } })
class Center extends Entity {
  @property({ id: true, type: 'number', generated: true }) id!: number;
  @property({ type: 'string' }) name!: string;
}

@model({ settings: { postgresql: { table: 'person' } } })
class Person extends Entity {
  @property({ id: true, type: 'number', generated: true }) id!: number;
  @property({ type: 'string' }) kind!: string;
  @property({ type: 'string' }) first_name!: string;
  @property({ type: 'string' }) last_name!: string;
  @property({ type: 'string' }) email!: string;
  @property({ type: 'date', postgresql: { dataType: 'date' } }) birthdate!: string;
  @property({ type: 'date' }) created_at!: string;
  @belongsTo(() => Center, { name: 'center' }) center_id!: number;
}

class CenterRepository extends DefaultCrudRepository<Center, number> {
  constructor(@inject('datasources.db') source: juggler.DataSource) {
    super(Center, source);
  }
}

class PersonRepository extends DefaultCrudRepository<Person, number> {
  readonly center: BelongsToAccessor<Center, number>;

  constructor(
    @inject('datasources.db') source: juggler.DataSource,
    @repository.getter('CenterRepository') centers: Getter<CenterRepository>,
  ) {
    super(Person, source);
    this.center = this.createBelongsToAccessorFor('center', centers);
    this.registerInclusionResolver('center', this.center.inclusionResolver);
  }
}

const CrudController = defineCrudRestController<Person, number, 'id'>(Person, { basePath: '/people' });

class PeopleController extends CrudController {
  constructor(@repository(PersonRepository) people: PersonRepository) {
    super(people);
  }
}

class Application extends RepositoryMixin(RestApplication) {}

async function start(): Promise<void> {
  const app = new Application({ rest: { port: Number(process.env.PORT), host: '127.0.0.1', openApiSpec: { disabled: true } } });
  const source = new juggler.DataSource({ name: 'db', connector: 'postgresql', url: process.env.DATABASE_URL, max: 10 });
  app.dataSource(source, 'db');
  app.repository(CenterRepository);
  app.repository(PersonRepository);
  app.controller(PeopleController);
  await app.start();
}

start().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
