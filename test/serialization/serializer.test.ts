import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, expect, test } from 'vitest';
import { createSerializer, type LongList, longList, type VisibleRows } from '../../src/serialization/serializer.ts';
import { memoryMapper } from '../support/memory-mapper.ts';

const Course = defineEntity({
  name: 'Course',
  properties: {
    year: p.integer().primary().groups('read'),
    no: p.integer().primary().groups('read'),
    term: () => p.manyToOne(Term),
  },
});
const Term = defineEntity({
  name: 'Term',
  properties: { id: p.integer().primary().groups('read'), courses: () => p.oneToMany(Course).mappedBy('term').groups('read') },
});

const mapper = await memoryMapper(Term, Course);
afterAll(() => mapper.close(true));

test('sorts the items of a long list when it writes them, and makes each key once', () => {
  const em = mapper.em.fork();
  const term = em.create(Term, { id: 1, courses: [] });
  const numbers = Array.from({ length: longList + 1 }, (_, i) => i).reverse();
  for (const no of numbers) em.create(Course, { year: 1, no, term });
  const lists: LongList[] = [];
  const rows: VisibleRows = {
    isLimited: () => false,
    shows: () => true,
    showsKey: () => true,
    computed: (_entity, _property, compute) => compute(),
    later: (list) => void lists.push(list),
  };
  let reads = 0;
  for (const course of term.courses) {
    const { no } = course;
    const get = () => {
      reads++;
      return no;
    };
    Object.defineProperty(course, 'no', { get, configurable: true, enumerable: true });
  }
  const written = createSerializer(mapper as never, ['read']).serialize(term, rows);
  expect([written, lists.length, reads]).toEqual([{ id: 1, courses: [] }, 1, 0]);
  const items = lists[0]?.items() ?? [];
  expect(reads).toBeLessThanOrEqual(2 * numbers.length);
  for (const item of items) lists[0]?.add(item);
  expect(written).toEqual({ id: 1, courses: numbers.reverse().map((no) => ({ year: 1, no })) });
});
