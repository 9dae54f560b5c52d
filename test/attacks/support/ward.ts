import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import type { CodeOptions } from '../../../src/application.ts';
import { type User, Voter } from '../../../src/index.ts';
import { marker } from './vault.ts';

/** Patients whose medical fields exist for callers with the role MEDICAL only. Every medical value begins with the marker. */
export const Doctor = defineEntity({
  name: 'Doctor',
  properties: {
    id: p.integer().primary().groups('read', 'short'),
    name: p.string().groups('read', 'short', 'write'),
    pager: p.string().nullable().unique().groups('read:medical', 'write:medical'),
  },
});

const Address = defineEntity({
  name: 'Address',
  embeddable: true,
  properties: {
    city: p.string().nullable().groups('read', 'write'),
    door: p.string().nullable().groups('read:medical', 'write:medical'),
  },
});

/** A patient of this name gets the badge of the first one. */
export const takenName = 'taken';

const patient = defineEntity({
  name: 'Patient',
  properties: {
    id: p.integer().primary().groups('read', 'short'),
    name: p.string().length(40).groups('read', 'short', 'write'),
    diagnosis: p.string().nullable().groups('read:medical', 'write:medical'),
    score: p.integer().default(0).groups('read:medical', 'write:medical'),
    badge: p
      .string()
      .nullable()
      .unique()
      .onCreate((row: any) => row.badge ?? (row.name === takenName ? `${marker}badge-1` : null))
      .groups('read:medical', 'write:medical'),
    // accepted from everyone, returned to some
    remark: p.string().nullable().groups('read:medical', 'write'),
    diary: p.string().nullable().groups('read:own', 'write:own'),
    history: p.json<unknown>().nullable().groups('read:medical', 'write:medical'),
    summary: p.string().persist(false).getter().groups('read:medical'),
    address: () => p.embedded(Address).nullable().groups('read', 'write'),
    stays: () => p.embedded(Address).array().nullable().groups('read', 'write'),
    doctor: () => p.manyToOne(Doctor).nullable().groups('read', 'write'),
    guardian: () => p.manyToOne(Doctor).nullable().groups('read:medical', 'write:medical'),
    staff: () => p.manyToMany(Doctor).groups('read:medical', 'write:medical'),
    visits: () => p.oneToMany(Visit).mappedBy('patient').groups('read:medical'),
    owner: p.string().default('nobody'),
  },
});

export class Patient extends patient.class {
  static constraints = {
    diagnosis: {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) =>
          String(value).includes('invalid') ? { issues: [{ message: 'must not be invalid' }] } : { value },
      },
    },
  };

  override get summary(): string {
    return `summary of ${this.diagnosis}`;
  }
}

patient.setClass(Patient);

export const Visit = defineEntity({
  name: 'Visit',
  properties: {
    id: p.integer().primary().groups('read'),
    reason: p.string().groups('read', 'write'),
    finding: p.string().nullable().groups('read:medical', 'write:medical'),
    place: () => p.embedded(Address).groups('read', 'write'),
    patient: () => p.manyToOne(Patient).groups('read', 'write'),
  },
});

export const Bed = defineEntity({
  name: 'Bed',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    serial: p.string().groups('read:medical', 'write:medical'),
  },
});

export const Paper = defineEntity({
  name: 'Paper',
  discriminatorColumn: 'type',
  discriminatorValue: 'paper',
  properties: {
    id: p.integer().primary().groups('read'),
    type: p.string().groups('read'),
    title: p.string().groups('read', 'write'),
  },
});

export const Letter = defineEntity({
  name: 'Letter',
  extends: Paper,
  discriminatorValue: 'letter',
  properties: {
    wording: p.string().nullable().groups('read:medical', 'write:medical'),
    stamp: p.string().nullable().groups('read', 'write'),
  },
});

class MedicalVoter extends Voter {
  static override roles = ['MEDICAL'];
  override vote(_role: string, _subject: unknown, user: User | null) {
    return user?.roles.includes('ROLE_MEDICAL') ? ('grant' as const) : ('deny' as const);
  }
}

/** Decides by the row; without a row, nobody has the role. */
class OwnerVoter extends Voter<{ owner: string }> {
  static override roles = ['OWNER'];
  override vote(_role: string, subject: { owner: string } | null, user: User | null) {
    return user !== null && subject?.owner === user.id ? ('grant' as const) : ('deny' as const);
  }
}

const groups = { read: ['read', 'read:medical', 'read:own'], write: ['write', 'write:medical', 'write:own'] };
const medical = { read: ['read', 'read:medical'], write: ['write', 'write:medical'] };
const formats = ['json', 'csv', 'ndjson', 'xml'];
const writable = {
  _index: { methods: { GET: true, HEAD: true, POST: true } },
  _entity: { methods: { GET: true, HEAD: true, PUT: true, PATCH: true, DELETE: true } },
};
const base = { base_role: 'ROLE_USER', formats, actions: writable };

export const ward: CodeOptions = {
  app_main: {
    security: { jwt: { secret: 'a secret of the ward that is long enough' } },
    groups: {
      'read:medical': { role: 'MEDICAL' },
      'write:medical': { role: 'MEDICAL' },
      'read:own': { role: 'OWNER' },
      'write:own': { role: 'OWNER' },
    },
    apis: {
      patient: {
        ...base,
        class: Patient,
        base_path: '/patient',
        groups,
        default_sort: ['-score'],
        filters: {
          name: ['eq', 'starts'],
          diagnosis: ['eq', 'ne', 'starts', 'contains', 'exists'],
          score: ['eq', 'lt', 'gte'],
          badge: ['eq', 'in'],
          history: ['exists'],
          'address.city': ['eq'],
          'address.door': ['eq', 'starts'],
          doctor: ['exists'],
          'doctor.name': ['eq'],
          'doctor.pager': ['starts'],
          guardian: ['exists'],
          'guardian.id': ['eq'],
          'staff.name': ['eq'],
          'visits.finding': ['contains'],
        },
        sort: ['name', 'diagnosis', 'score', 'doctor.name', 'doctor.pager'],
        search: ['name', 'diagnosis', 'doctor.pager'],
        pagination: { items_per_page: 2 },
      },
      short: { ...base, class: Patient, base_path: '/short', groups, actions: { _index: { groups: { read: ['short'] } } } },
      visit: {
        ...base,
        class: Visit,
        base_path: '/visit',
        groups: medical,
        filters: { reason: ['eq'], 'patient.name': ['eq'], 'patient.diagnosis': ['starts'], finding: ['eq'] },
        sort: ['id', 'finding', 'patient.diagnosis'],
        search: ['patient.diagnosis'],
      },
      doctor: { ...base, class: Doctor, base_path: '/doctor', groups: medical },
      bed: { ...base, class: Bed, base_path: '/bed', groups: medical },
      paper: { ...base, class: Paper, base_path: '/paper', groups: medical },
    },
  } as never,
  models: [Doctor, Address, Patient, Visit, Bed, Paper, Letter] as never,
  voters: [MedicalVoter, OwnerVoter] as never,
  seed: seedWard,
};

/** Patients 1 to 6. The order of their scores is not the order of their ids. */
async function seedWard(em: EntityManager): Promise<void> {
  for (let id = 1; id <= 3; id++) {
    em.create(Doctor, { name: `doctor ${id}`, pager: `${marker}pager-${id}` } as never);
    await em.flush();
  }
  const scores = [30, 10, 60, 20, 50, 40];
  for (let id = 1; id <= 6; id++) {
    em.create(Patient, {
      name: `patient ${id}`,
      diagnosis: `${marker}diagnosis-${'x'.repeat(scores[id - 1] as number)}`,
      score: 7_340_000 + (scores[id - 1] as number),
      badge: `${marker}badge-${id}`,
      remark: `${marker}remark-${id}`,
      diary: `${marker}diary-${id}`,
      history: { [`${marker}history-${id}`]: id },
      address: { city: `city ${id}`, door: `${marker}door-${id}` },
      // two of them look the same without their doors
      stays: [id, id + 1, id].map((number, i) => ({ city: `city ${number}`, door: `${marker}stay-${i}` })),
      doctor: 1 + (id % 3),
      guardian: 1 + ((id + 1) % 3),
      staff: [1, 2],
      owner: id % 2 === 1 ? 'nina' : 'otto',
    } as never);
    await em.flush();
    const place = { city: `city ${id}`, door: `${marker}door-${id}` };
    em.create(Visit, { reason: `reason ${id}`, finding: `${marker}finding-${id}`, place, patient: id } as never);
    await em.flush();
    em.create(Bed, { name: `bed ${id}`, serial: `${marker}serial-${id}` } as never);
    em.create(
      (id % 2 === 1 ? Letter : Paper) as never,
      { title: `paper ${id}`, ...(id % 2 === 1 && { wording: `${marker}wording-${id}` }) } as never,
    );
    await em.flush();
  }
}

/** Owns the patients with odd ids. */
export const nurse = { id: 'nina', roles: ['ROLE_USER'] };
export const medic = { id: 'max', roles: ['ROLE_USER', 'ROLE_MEDICAL'] };
