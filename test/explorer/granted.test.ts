import { describe, expect, test } from 'vitest';
import { changedFields, createBody, editedValues, writable } from '../../explorer/model/changes.ts';
import { columnsOf } from '../../explorer/model/columns.ts';
import { readDocument } from '../../explorer/model/document.ts';
import { draftOf, type ObjectDraft } from '../../explorer/model/draft.ts';
import { filtersOf, sortsOf } from '../../explorer/model/filters.ts';
import { type FieldOf, formOf } from '../../explorer/model/form-model.ts';
import { formOfRow, isShown } from '../../explorer/model/granted.ts';
import { loadApplication } from '../../src/application.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { clinic } from '../support/clinic.ts';

const application = await loadApplication({ directory: clinic(), databaseUrl: 'sqlite::memory:' });
const catalogue = readDocument(openApiDocument(application, { title: 'clinic', version: '1.0.0' }) as never);
await application.mapper.close();
const { schemas } = catalogue;
const person = catalogue.apis.find(({ name }) => name === 'person')!;
const center = catalogue.apis.find(({ name }) => name === 'center')!;
const list = person.list!;
const seen: Record<string, unknown>[] = [{ id: 1, name: 'Ada', diagnosis: null, center: { id: 1, name: 'North', budget: 9 } }];
const unseen: Record<string, unknown>[] = [{ id: 1, name: 'Ada', center: { id: 1, name: 'North' } }];
const label = () => '';

describe('the explorer with fields by role', () => {
  test('shows a column if a row has the field', () => {
    const names = (rows: readonly unknown[]) => columnsOf(schemas, person.row, [], null, rows).map(({ name }) => name);
    expect(names(seen)).toEqual(['id', 'name', 'diagnosis', 'center']);
    expect(names(unseen)).toEqual(['id', 'name', 'center']);
  });

  test('has the columns of a list with groups of its own', () => {
    expect(columnsOf(schemas, center.row, [], null).map(({ name }) => name)).toEqual(['id', 'code']);
  });

  test('offers filters and orders by the field if a row has it', () => {
    const parameters = (rows: readonly unknown[]) => filtersOf(list, rows).map(({ parameter }) => parameter);
    expect(parameters(seen)).toEqual(['name', 'diagnosis', 'diagnosis[exists]']);
    expect(parameters(unseen)).toEqual(['name']);
    expect(sortsOf(list, seen)).toEqual(['name', 'diagnosis']);
    expect(sortsOf(list, unseen)).toEqual(['name']);
  });

  test('finds fields in embedded rows', () => {
    expect(isShown(seen, 'center.budget')).toBe(true);
    expect(isShown(unseen, 'center.budget')).toBe(false);
    expect(isShown([{ centers: [{ budget: 1 }] }], 'centers.budget')).toBe(true);
  });

  test('sends no field that the row does not have', () => {
    const form = formOf(schemas, person.put!.body!) as FieldOf<'object'>;
    const row = unseen[0]!;
    const own = formOfRow(form, row, '');
    const shown = draftOf(own, row, label) as ObjectDraft;
    const { values } = editedValues(own, row, { ...shown, fields: { ...shown.fields, name: 'Eva' } });
    expect(values).toEqual({ name: 'Eva', center: { id: 1 } });
    expect(changedFields(own, writable(own, row), values).body).toEqual({ name: 'Eva' });
    expect(formOfRow(form, seen[0]!, '').variants[0]?.fields.map(({ name }) => name)).toEqual(['name', 'diagnosis', 'center']);
  });

  test('creates a row without a field that was not filled in, even if it has a default', () => {
    const body = {
      type: 'object',
      properties: { name: { type: 'string' }, level: { type: 'integer', default: 3, 'x-role': 'ROLE_FINANCE' } },
      required: ['name'],
    };
    const form = formOf({}, body) as FieldOf<'object'>;
    const draft = draftOf(form, { name: 'Ada' }, label) as ObjectDraft;
    expect(createBody(form, draft).body).toEqual({ name: 'Ada' });
    expect(createBody(form, { ...draft, fields: { ...draft.fields, level: '4' } }).body).toEqual({ name: 'Ada', level: 4 });
  });
});
