import { expect, test } from 'vitest';
import { isFailure } from '../../src/actions/failure.ts';
import { JsonReply } from '../../src/response/json-reply.ts';

const violations = [{ propertyPath: 'name', title: 'is required' }];

test.each<[string, unknown, boolean]>([
  ['an error status', new JsonReply({ failed: true }, { status: 409 }), true],
  ['the lowest error status', new JsonReply({ failed: true }, { status: 400 }), true],
  ['a list of violations', violations, true],
  ['a list of violations with status 200', new JsonReply(violations), true],
  ['an empty list', [], false],
  ['a list of other objects', [{ title: 'a book' }], false],
  ['a list of violations and other objects', [...violations, { title: 'a book' }], false],
  ...[null, undefined, 'text', 1].map((item) => [`a list with ${item}`, [item], false] as [string, unknown, boolean]),
  ['a status below 400', new JsonReply({ done: true }, { status: 201 }), false],
  ['nothing', undefined, false],
  ['one violation alone', violations[0], false],
])('detects whether a handler failed if it returns %s', (_, result, expected) => {
  expect(isFailure(result)).toBe(expected);
});
