import { join } from 'node:path';
import { type Files, writeFiles } from '../cli/applications.ts';

/** The library as modules of the clinic import it. */
export const library = JSON.stringify(join(import.meta.dirname, '..', '..', 'src', 'index.ts'));

/** The declaration of the clinic. Each line is one that a test can edit. */
export const clinicYaml = `app_main:
  security: { jwt: { secret: '0123456789abcdef0123456789abcdef' } }
  groups:
    'read:medical': { role: PERSON_MEDICAL }
    'write:medical': { role: PERSON_MEDICAL }
    'read:finance':
      role: ROLE_FINANCE
  apis:
    person:
      class: Person
      base_path: /api/person
      base_role: ROLE_USER
      groups:
        read: [read, 'read:medical', 'read:finance']
        write: [write, 'write:medical']
      filters: { name: [eq], diagnosis: [eq, exists] }
      sort: [name, diagnosis]
      search: [name, diagnosis]
      actions:
        _index: { methods: { GET: true, POST: true } }
        _entity: { methods: { GET: true, PATCH: true, PUT: true } }
    center:
      class: Center
      base_path: /api/center
      base_role: ROLE_USER
      actions:
        _index:
          groups: { read: [short] }
        _entity: { methods: { GET: true } }
`;

const models = `import { defineEntity, p } from '@mikro-orm/core';
export const Center = defineEntity({
  name: 'Center',
  properties: {
    id: p.integer().primary().groups('read', 'short'),
    name: p.string().groups('read'),
    code: p.string().default('N').groups('short'),
    budget: p.integer().default(0).groups('read:finance'),
  },
});
export const Person = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    diagnosis: p.string().nullable().groups('read:medical', 'write:medical'),
    center: () => p.manyToOne(Center).nullable().groups('read', 'write'),
  },
});
`;

const voter = `import { Voter } from ${library};
export class MedicalVoter extends Voter {
  static roles = ['PERSON_MEDICAL'];
  vote(_role, subject, user) {
    if (user?.roles.includes('ROLE_DOCTOR')) return 'grant';
    return subject !== null && String(subject.id) === String(user?.id) ? 'grant' : 'deny';
  }
}
`;

const seed = `import { Center, Person } from './models/models.ts';
export default async (em) => {
  const center = em.create(Center, { name: 'North', budget: 900 });
  em.create(Person, { name: 'Ada', diagnosis: 'flu', center });
  em.create(Person, { name: 'Ben', diagnosis: null, center });
};
`;

/**
 * An application with fields by role. Doctors see every diagnosis, others only their own, and \`ROLE_FINANCE\` sees budgets, which
 * are in embedded rows.
 */
export function clinic(changes: Files = {}): string {
  return writeFiles({
    'package.json': '{ "type": "module" }',
    'config/routes.yaml': "app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }\n",
    'config/app_main.yaml': clinicYaml,
    'src/models/models.ts': models,
    'src/voters/medical-voter.ts': voter,
    'src/seed.ts': seed,
    ...changes,
  });
}

/** The clinic with a text replaced in one of its files. */
export function editedClinic(file: keyof typeof sources, from: string, to: string): string {
  const source = sources[file];
  if (source.split(from).length !== 2) throw new Error(`${file} does not contain ${from} once`);
  return clinic({ [file]: source.replace(from, to) });
}

const sources = { 'config/app_main.yaml': clinicYaml, 'src/models/models.ts': models };
