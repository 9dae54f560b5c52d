import { boolean, integer, map, object, optional, orNull } from '../shape.ts';
import { role } from './settings-schema.ts';

/** The largest list that an API can allow: all rows of a request are in memory at once. */
const mostItems = 10_000;

/** The methods of `_index` that accept a list. */
export const bulk = object('bulk', {
  POST: optional(boolean(), false, 'Whether POST accepts a list and creates a row for each item.'),
  PATCH: optional(boolean(), false, 'Whether PATCH accepts a list and changes the row of each item.'),
  DELETE: optional(boolean(), false, 'Whether DELETE accepts a list and removes the row of each item.'),
  max_items: optional(integer(1, mostItems), 1000, 'The maximum number of items in a list.'),
});

const nestedRows = object('nested', {
  max_items: optional(integer(1, mostItems), 100, 'The maximum number of rows in one list of a body.'),
  role: orNull(role, null, 'The role checked if a body creates such rows, besides those of POST.'),
});

/** Associations by their paths in a body, such as `vaccinations` or `vaccinations.doses`. */
export const nested = map(nestedRows, {
  example: {
    name: 'vaccinations',
    note: 'A to-many association by its name in JSON, or a path such as vaccinations.doses.',
  },
  names: /^(?!__proto__$)[^\s.,[\]]+(?:\.[^\s.,[\]]+)*$/,
  namesExpected: 'a nested association is named by a path such as "vaccinations" or "vaccinations.doses"',
});
