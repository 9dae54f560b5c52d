import { defineEntity, p } from '@mikro-orm/core';
import { expect, test } from 'vitest';
import { createMapper } from '../../src/database/create-mapper.ts';
import type { DatabaseDeclaration } from '../../src/declaration/types.ts';

const Member = defineEntity({
  name: 'Member',
  discriminatorColumn: 'type',
  abstract: true,
  properties: {
    id: p.integer().primary(),
    type: p.string(),
    mentors: () => p.manyToMany(Mentor).mappedBy('pupils'),
  },
});
const Mentor = defineEntity({
  name: 'Mentor',
  extends: Member,
  discriminatorValue: 'mentor',
  properties: { pupils: () => p.manyToMany(Member).inversedBy('mentors') },
});

test('an association that an abstract root inverts and one of its classes owns has its pivot table in every class', async () => {
  const database = { url: 'sqlite::memory:', schema: 'keep', statementTimeout: 0, readOnly: false };
  const mapper = await createMapper(database as unknown as DatabaseDeclaration, { entities: [Member, Mentor], directory: '.' });
  try {
    await mapper.schema.create();
    const em = mapper.em.fork();
    const [one, other] = [em.create(Mentor, { id: 1 } as any), em.create(Mentor, { id: 2 } as any)] as any[];
    one.pupils.add(other);
    await em.flush();
    const [found] = await mapper.em.fork().find(Member, { id: 2 }, { populate: ['mentors'] as never });
    expect((found as any).mentors.getIdentifiers()).toEqual([1]);
  } finally {
    await mapper.close();
  }
});
