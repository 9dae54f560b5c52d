import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeTemporary } from '../support/temporary.ts';

const temporary = makeTemporary('cli');

/** Files by name; null leaves one out. */
export type Files = Readonly<Record<string, string | null>>;

/** Writes files below a new temporary directory and returns it. */
export function writeFiles(files: Files): string {
  const directory = mkdtempSync(join(temporary.directory, 'app-'));
  for (const [name, text] of Object.entries(files)) if (text !== null) write(directory, name, text);
  return directory;
}

/** Writes one file of an application. */
export function write(directory: string, name: string, text: string): void {
  mkdirSync(dirname(join(directory, name)), { recursive: true });
  writeFileSync(join(directory, name), text);
}

const routesYaml = "app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }\n";

const personModel = `
import { defineEntity, p } from '@mikro-orm/core';
export const Person = defineEntity({
  name: 'Person',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
});
`;

export const personYaml = `app_main:
  apis:
    person:
      class: Person
      base_path: /api/person
      actions: { _index: { methods: { GET: true, POST: true } }, _entity: null }
`;

/** The smallest application: one model, open to all, in a SQLite file. */
export function smallApplication(changes: Files = {}): string {
  return writeFiles({
    'package.json': '{ "type": "module" }',
    'config/routes.yaml': routesYaml,
    'config/app_main.yaml': personYaml,
    'src/models/person.ts': personModel,
    ...changes,
  });
}

/** The library as modules of an application import it, so that they and the tests in this process share its classes. */
const library = JSON.stringify(join(import.meta.dirname, '..', '..', 'src', 'index.ts'));

/** An application with every kind of action, with roles of all kinds and a service of its own. */
export function fullApplication(changes: Files = {}): string {
  return smallApplication({
    'config/routes.yaml': `${routesYaml}status: { resource: 'status_routes:load', type: service }\n`,
    'config/app_main.yaml': `app_main:
  security: { jwt: { secret: '${secret}', issuer: tests, audience: people } }
  apis:
    course:
      class: Course
      base_path: /api/{region}/course
      controller: CourseController
      base_role: COURSE_SEE
      actions:
        _entity:
          methods: { GET: true, HEAD: true, PATCH: true, DELETE: true }
          roles: { PATCH: ROLE_EDITOR, DELETE: ROLE_ADMIN }
          requirements: { region: '[a-z]{2}', id: '[1-9]\\d*' }
        _index: { requirements: { region: '[a-z]{2}' } }
        participants: { association: { property: participants } }
        mine: { single-collection: collection, methods: { GET: true } }
        close: { methods: { POST: true }, controller_action: shut, path: shut-down }
    person:
      class: Person
      base_path: /api/person
      actions:
        _index: { methods: { GET: true, HEAD: true, POST: true }, roles: { POST: ROLE_EDITOR } }
        _entity: { path: details }
`,
    'src/models/course.ts': `
import { defineEntity, p } from '@mikro-orm/core';
import { Person } from './person.ts';
const schema = defineEntity({
  name: 'Course',
  properties: {
    id: p.integer().primary().groups('read'),
    participants: () => p.manyToMany(Person),
  },
});
export class Course extends schema.class {
  addParticipant(person) { this.participants.add(person); }
  removeParticipant(person) { this.participants.remove(person); }
}
schema.setClass(Course);
`,
    'src/controllers/course-controller.ts': `
import { ApiController } from ${library};
export class CourseController extends ApiController {
  mineApi() { return []; }
  shut() { return null; }
}
`,
    'src/voters/course-voter.ts': `
import { Voter } from ${library};
export class CourseVoter extends Voter {
  static roles = ['COURSE_SEE'];
  vote(role, subject, user) { return user ? 'grant' : 'deny'; }
}
`,
    'src/services/status-routes.ts': `
export const status_routes = {
  load: () => [{ name: 'status', path: '/status.{_format}', methods: ['GET'], roles: 'ROLE_USER', handler: (request) => request.user }],
};
`,
    ...changes,
  });
}

export const secret = 'a secret of the tests, long enough to sign';
