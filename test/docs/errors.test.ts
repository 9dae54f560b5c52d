import { describe, expect, test } from 'vitest';
import { catalogue, violationCodes } from '../../src/errors.ts';
import { tableBelow } from './markdown.ts';

const page = 'docs/reference/errors.md';
const groups = ['The request', 'The caller', 'The data', 'The server'];
const rows = groups.flatMap((group) => tableBelow(page, group));

describe('docs/reference/errors.md', () => {
  test('has exactly the codes of the catalogue with their status, in the same order', () => {
    const documented = rows.map(([code, status]) => [code, Number(status)]);
    expect(documented).toEqual(Object.entries(catalogue).map(([code, { status }]) => [code, status]));
  });

  test.each(Object.entries(catalogue))('has an example of %s that matches its template', (code, { detail }) => {
    const example = rows.find(([name]) => name === code)?.[3];
    const pattern = detail.split(/\{\w+\}/).map((text) => text.replace(/[^\w\s]/g, '\\$&'));
    expect(example).toMatch(new RegExp(`^${pattern.join('.+')}$`));
  });

  test('has a remedy for every code', () => {
    expect(rows.filter((row) => row.length !== 5 || row.some((cell) => cell === ''))).toEqual([]);
  });

  test('has exactly the violation codes of Declarest', () => {
    const documented = tableBelow(page, 'Violation codes').map(([code]) => code);
    expect(documented.toSorted()).toEqual([...violationCodes]);
  });
});
