import { defineEntity, type Opt, p } from '@mikro-orm/core';
import { z } from 'zod';
import { Address } from './address.ts';
import { Center } from './center.ts';

const schema = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary().groups('read'),
    // tells a person from a third party where either can stand
    type: p.string().persist(false).getter().groups('read'),
    firstName: p.string().length(80).groups('read', 'write'),
    lastName: p.string().length(80).groups('read', 'write'),
    fullName: p.string().persist(false).getter().groups('read'),
    birthdate: p.date().nullable().groups('read', 'write'),
    email: p.string().length(200).nullable().unique().groups('read', 'write'),
    address: () => p.embedded(Address).nullable().groups('read', 'write'),
    center: () => p.manyToOne(Center).groups('read', 'write'),
    // in no group: it never leaves, and no body can set it
    nationalNumber: p.string().length(20).nullable(),
  },
});

export class Person extends schema.class {
  static constraints = z.object({ email: z.email('must be an e-mail address').nullish() });

  override get type(): Opt<string> {
    return 'person';
  }

  override get fullName(): Opt<string> {
    return `${this.firstName} ${this.lastName}`;
  }

  validate() {
    const today = new Date().toISOString().slice(0, 10);
    return this.birthdate && this.birthdate > today ? [{ propertyPath: 'birthdate', title: 'must not be in the future' }] : [];
  }
}

schema.setClass(Person);
