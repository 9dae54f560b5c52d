import { defineEntity, type Opt, p } from '@mikro-orm/core';
import type { ValidationContext } from 'declarest';
import { z } from 'zod';
import { centersOf } from '../security.ts';
import { Address } from './address.ts';
import { Center } from './center.ts';

const schema = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary().groups('read'),
    // distinguishes people from third parties in the requestor of a course
    type: p.string().persist(false).getter().groups('read'),
    firstName: p.string().length(80).groups('read', 'write'),
    lastName: p.string().length(80).groups('read', 'write'),
    fullName: p.string().persist(false).getter().groups('read'),
    birthdate: p.date().nullable().groups('read', 'write'),
    email: p.string().length(200).nullable().unique().groups('read', 'write'),
    address: () => p.embedded(Address).nullable().groups('read', 'write'),
    center: () => p.manyToOne(Center).groups('read', 'write'),
    // in no group: never sent, never accepted
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

  validate({ request }: ValidationContext) {
    const violations = [];
    const today = new Date().toISOString().slice(0, 10);
    if (this.birthdate && this.birthdate > today)
      violations.push({ propertyPath: 'birthdate', title: 'must not be in the future' });
    // customizeQuery restricts which people callers see, not the center that a body names
    if (this.center && !centersOf(request.user).includes(this.center.id))
      violations.push({ propertyPath: 'center', title: 'must be a center that you work in' });
    return violations;
  }
}

schema.setClass(Person);
