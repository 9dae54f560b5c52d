import { describe, expect, test } from 'vitest';
import { databaseErrors } from '../../src/dialect/errors.ts';

const postgres = (code: string, further: object = {}) => Object.assign(new Error('refused'), { code }, further);
const sqlite = (errcode: number, message = 'refused') => Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode });

/** The questions to which the answer is yes. */
function answersTo(error: unknown): string[] {
  const { brokenConstraint: _, ...questions } = databaseErrors;
  return Object.entries(questions).flatMap(([name, ask]) => (ask(error) ? [name] : []));
}

describe('classification of database errors', () => {
  test.each([
    ['a serialization failure', postgres('40001'), ['isTransient', 'isUnavailable']],
    ['a deadlock', postgres('40P01'), ['isTransient', 'isUnavailable']],
    ['a statement timeout', postgres('57014'), ['isUnavailable']],
    ['a lost connection', postgres('08006'), ['isUnavailable']],
    ['a session that was ended', postgres('57P01', { severity: 'FATAL' }), ['isUnavailable']],
    ['a wrong password', postgres('28P01', { severity: 'FATAL' }), ['isUnavailable', 'isFinal']],
    ['a full disk', postgres('53100'), ['isFull']],
    ['a server that only reads', postgres('25006'), ['isUnavailable', 'isReadOnly']],
    ['a unique constraint', postgres('23505'), ['isTranslatable']],
    ['`on delete restrict`', postgres('23001'), ['isTranslatable', 'isReferenceConflict']],
    ['a value of another type', postgres('22P02'), ['isMisfit']],
    ['a connection of pg that broke', new Error('Connection terminated unexpectedly'), ['isUnavailable']],
  ])('on PostgreSQL: %s', (_, error, expected) => {
    expect(answersTo(error)).toEqual(expected);
  });

  test.each([
    ['a snapshot that another write has overtaken', sqlite(517), ['isTransient', 'isUnavailable', 'isTranslatable']],
    ['a busy database', sqlite(5), ['isUnavailable', 'isTranslatable']],
    ['a database that is read only', sqlite(8), ['isUnavailable', 'isReadOnly', 'isTranslatable']],
    ['a full disk', sqlite(13), ['isFull', 'isTranslatable']],
    ['a unique constraint', sqlite(2067), ['isTranslatable']],
  ])('on SQLite: %s', (_, error, expected) => {
    expect(answersTo(error)).toEqual(expected);
  });

  test.each([[new Error('another')], ['a text'], [null], [undefined], [{}]])('does not classify %j', (error) => {
    expect(answersTo(error)).toEqual([]);
  });
});

describe('a violated constraint', () => {
  test('is read from the fields of a PostgreSQL error', () => {
    const unique = { table: 'person', constraint: 'person_key', detail: 'Key (email, "Year")=(a, 1) already exists.' };
    expect(databaseErrors.brokenConstraint(postgres('23505', unique))).toEqual({
      table: 'person',
      columns: ['email', 'Year'],
      constraint: 'person_key',
      isStillReferenced: false,
    });
    expect(databaseErrors.brokenConstraint(postgres('23502', { table: 'person', column: 'name' })).columns).toEqual(['name']);
    const referenced = { table: 'pet', constraint: 'pet_fk', detail: 'Key (id)=(1) is still referenced from table "pet".' };
    expect(databaseErrors.brokenConstraint(postgres('23503', referenced)).isStillReferenced).toBe(true);
  });

  test('is read from the message of a SQLite error', () => {
    expect(databaseErrors.brokenConstraint(sqlite(2067, 'UNIQUE constraint failed: person.email, person.year'))).toMatchObject({
      table: 'person',
      columns: ['email', 'year'],
      constraint: undefined,
    });
    expect(databaseErrors.brokenConstraint(sqlite(275, 'CHECK constraint failed: age > 0')).constraint).toBe('age > 0');
  });
});
