import { expect, test } from 'vitest';
import { databaseLabel } from '../../src/database/database-label.ts';

test.each([
  ['postgresql://ada:secret@db.example.org:5432/app', 'postgresql://ada@db.example.org:5432/app'],
  ['postgresql://ada:se:c@ret@db.example.org/app?x=1', 'postgresql://ada@db.example.org/app?x=1'],
  ['postgresql://ada@db.example.org/app', 'postgresql://ada@db.example.org/app'],
  ['postgresql://db.example.org:5432/app', 'postgresql://db.example.org:5432/app'],
  ['sqlite:var/app.db', 'sqlite:var/app.db'],
])('the label of the database %s is %s', (url, label) => {
  expect(databaseLabel(url)).toBe(label);
});
