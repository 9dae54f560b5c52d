import { describe, expect, test } from 'vitest';
import { changedFields, createBody, differences, editedValues, writable } from '../../explorer/model/changes.ts';
import { draftOf, type ObjectDraft } from '../../explorer/model/draft.ts';
import { type FieldOf, formOf } from '../../explorer/model/form-model.ts';
import { formOfRow } from '../../explorer/model/granted.ts';
import { withReadReferences } from '../../explorer/model/read-references.ts';
import type { Schema, Schemas } from '../../explorer/model/schema.ts';

const schemas: Schemas = {
  CenterReference: {
    'x-model': 'Center',
    type: 'object',
    properties: { type: { type: 'string', enum: ['center'] }, id: { type: 'integer' } },
    required: ['id'],
  },
  Address: {
    type: 'object',
    properties: { city: { type: 'string' }, postcode: { type: ['string', 'null'] } },
    required: ['city'],
  },
  Note: {
    type: 'object',
    properties: { type: { type: 'string', const: 'note' }, text: { type: 'string' } },
    required: ['type', 'text'],
  },
  Letter: {
    type: 'object',
    properties: { type: { type: 'string', const: 'letter' }, to: { type: 'string', maxLength: 80 } },
    required: ['type'],
  },
  Person: { 'x-model': 'Person', type: 'object', properties: { id: { type: 'integer' } } },
};
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const objectOf = (properties: Record<string, Schema>, required: string[] = []): Schema => ({
  type: 'object',
  properties,
  required,
});
const form = (schema: Schema) => formOf(schemas, schema) as FieldOf<'object'>;
const kindsOf = ({ variants }: FieldOf<'object'>) =>
  Object.fromEntries(variants[0]!.fields.map(({ name, kind }) => [name, kind]));
const label = (row: unknown) => `label of ${JSON.stringify(row)}`;

const body = objectOf(
  {
    name: { type: 'string', maxLength: 80 },
    notes: { type: 'string' },
    born: { type: ['string', 'null'], format: 'date' },
    seen: { type: 'string', format: 'date-time' },
    price: { type: 'string', format: 'decimal' },
    large: { type: ['integer', 'string'], format: 'int64' },
    level: { type: ['string', 'null'], enum: ['low', 'high', null] },
    open: { type: 'boolean', default: true },
    center: ref('CenterReference'),
    centers: { type: 'array', items: ref('CenterReference') },
    address: { anyOf: [ref('Address'), { type: 'null' }] },
    extra: {},
  },
  ['name', 'center'],
);

describe('the form of a body', () => {
  test('has a control for each type, format and nullability', () => {
    expect(kindsOf(form(body))).toEqual({
      name: 'text',
      notes: 'long-text',
      born: 'date',
      seen: 'date-time',
      price: 'decimal',
      large: 'big-integer',
      level: 'choice',
      open: 'boolean',
      center: 'reference',
      centers: 'list',
      address: 'object',
      extra: 'json',
    });
    const level = form(body).variants[0]!.fields.find(({ name }) => name === 'level') as FieldOf<'choice'>;
    expect(level).toMatchObject({ nullable: true, required: false, values: ['low', 'high'] });
  });

  test('has variants by discriminator, also without a mapping', () => {
    const union = form({ anyOf: [ref('Note'), ref('Letter')] });
    expect(union).toMatchObject({ kind: 'object', typeKey: 'type' });
    expect(union.variants.map(({ type }) => type)).toEqual(['note', 'letter']);
    const draft = draftOf(union, { type: 'letter', to: 'x' }, label) as ObjectDraft;
    expect(createBody(union, draft).body).toEqual({ type: 'letter', to: 'x' });
  });

  test('falls back to JSON for unions that nothing tells apart, and for schemas that contain themselves', () => {
    expect(formOf(schemas, { anyOf: [{ type: 'string' }, { type: 'integer' }] }).kind).toBe('json');
    const endless: Schemas = { Node: objectOf({ child: ref('Node') }) };
    expect(JSON.stringify(formOf(endless, ref('Node')))).toContain('"json"');
  });

  test('picks rows for an association that application code reads, by the models of responses', () => {
    const item = objectOf({ asker: { anyOf: [ref('Person'), { type: 'null' }] } });
    const [asker] = (withReadReferences(schemas, form(objectOf({ asker: {} })), item) as FieldOf<'object'>).variants[0]!.fields;
    expect(asker).toMatchObject({ kind: 'reference', targets: [{ model: 'Person', key: 'id', types: ['person'], typed: true }] });
  });
});

describe('the body of a form', () => {
  test('leaves out what was not filled in, and keeps defaults', () => {
    const draft = draftOf(form(body), {}, label) as ObjectDraft;
    const filled = {
      ...draft,
      fields: { ...draft.fields, name: 'Ada', center: { model: 'Center', type: null, id: 2, label: 'West' } },
    };
    expect(createBody(form(body), filled)).toEqual({ body: { name: 'Ada', open: true, center: { id: 2 } }, faults: [] });
  });

  test('reports texts that are not values next to their field', () => {
    const numbers = form(objectOf({ seats: { type: 'integer' }, inner: objectOf({ data: {} }, ['data']) }, ['inner']));
    const draft = draftOf(numbers, { seats: 1, inner: { data: 1 } }, label) as ObjectDraft;
    const wrong = { ...draft, fields: { seats: 'many', inner: { type: null, fields: { data: '{' } } } };
    expect(createBody(numbers, wrong).faults.map(({ path }) => path)).toEqual(['seats', 'inner.data']);
  });

  test('sends big integers without losing digits', () => {
    const big = form(objectOf({ large: { type: ['integer', 'string'], format: 'int64' } }));
    const sent = (text: string) => createBody(big, { type: null, fields: { large: text } }).body.large;
    expect([sent('12'), sent('9223372036854775807')]).toEqual([12, '9223372036854775807']);
  });
});

describe('an edited row', () => {
  const row = {
    id: 1,
    name: 'Ada',
    notes: '',
    born: null,
    seen: '2026-11-15T10:11:12.345Z',
    price: '1.50',
    center: { id: 2, name: 'West' },
    centers: [{ id: 1, name: 'North' }],
    address: { city: 'Bern', postcode: null },
    extra: { a: [1] },
    level: 'low',
    open: false,
    large: 5,
  };
  const draft = draftOf(form(body), row, label) as ObjectDraft;
  const edited = (fields: Record<string, unknown>) => ({ ...draft, fields: { ...draft.fields, ...fields } }) as ObjectDraft;
  const patch = (next: ObjectDraft) =>
    changedFields(form(body), writable(form(body), row), editedValues(form(body), row, next).values).body;

  test('sends nothing if nothing was changed, not even the milliseconds that a field does not show', () => {
    expect(patch(draft)).toEqual({});
    expect(editedValues(form(body), row, draft).values.seen).toBe(row.seen);
  });

  test('sends only changed fields, with references instead of rows', () => {
    const next = edited({
      name: 'Eve',
      center: { model: 'Center', type: null, id: 3, label: 'East' },
      born: '2000-01-02',
      address: null,
    });
    expect(patch(next)).toEqual({ name: 'Eve', center: { id: 3 }, born: '2000-01-02', address: null });
  });

  test('names the keys that were removed from JSON, because a change is merged into it', () => {
    const schema = objectOf({ data: {}, place: objectOf({ more: {} }) });
    const stored = { data: { a: 1, b: { c: 1, d: [null] }, e: null }, place: { more: { x: 1 } } };
    const changed = (data: unknown, more: unknown) => changedFields(form(schema), stored, { data, place: { more } });
    expect(changed({ b: { d: [{ f: null }] }, e: null }, { y: 2 })).toEqual({
      body: { data: { a: null, b: { c: null, d: [{ f: null }] } }, place: { more: { x: null, y: 2 } } },
      faults: [],
    });
    expect(changed([1], { x: 1 }).body).toEqual({ data: [1] });
    expect(changed({ ...stored.data, a: null }, { x: { z: null } }).faults.map(({ path }) => path)).toEqual([
      'data',
      'place.more',
    ]);
  });

  test('keeps null for a list, and the milliseconds inside an object', () => {
    const schema = objectOf({
      tags: { type: ['array', 'null'], items: { type: 'string' } },
      place: objectOf({ room: { type: 'string' }, since: { type: 'string', format: 'date-time' } }),
    });
    const stored = { tags: null, place: { room: 'A', since: '2026-11-15T10:11:12.345Z' } };
    const shown = draftOf(form(schema), stored, label) as ObjectDraft;
    const place = shown.fields.place as ObjectDraft;
    const next = { ...shown, fields: { ...shown.fields, place: { ...place, fields: { ...place.fields, room: 'B' } } } };
    expect(editedValues(form(schema), stored, next).values).toEqual({ ...stored, place: { ...stored.place, room: 'B' } });
  });

  test('rejects an emptied field that cannot be null, which would silently keep its value', () => {
    const schema = objectOf({
      seats: { type: 'integer' },
      name: { type: 'string' },
      level: { type: ['integer', 'null'] },
      data: {},
      place: objectOf({ shelf: { type: 'integer' } }),
    });
    const stored = { seats: 1, name: 'A', level: 2, data: { a: 1 }, place: { shelf: 3 } };
    const empty = { seats: '', name: '', level: null, data: '', place: { type: null, fields: { shelf: '' } } };
    const { faults, values } = editedValues(form(schema), stored, { type: null, fields: empty });
    expect(faults.map(({ path }) => path)).toEqual(['seats', 'place.shelf']);
    expect(values).toMatchObject({ name: '', level: null, data: null });
  });

  test('sends a field that the API does not show only if it was filled in', () => {
    const schema = objectOf({
      pin: { type: 'string' },
      on: { type: 'boolean', default: true },
      name: { type: 'string' },
      note: { type: ['string', 'null'] },
    });
    const own = formOfRow(form(schema), { name: 'A' }, 'hint');
    const shown = draftOf(own, { name: 'A' }, label) as ObjectDraft;
    expect(own.variants[0]?.fields.map(({ description }) => description)).toEqual(['hint', 'hint', null, 'hint']);
    expect(editedValues(own, { name: 'A' }, shown).values).toEqual({ name: 'A' });
    const filled = { ...shown, fields: { ...shown.fields, pin: '1', on: false } };
    expect(editedValues(own, { name: 'A' }, filled).values).toEqual({ pin: '1', on: false, name: 'A' });
  });

  test('compares three versions field by field', () => {
    const base = { a: 1, b: 1, c: 1, d: { x: 1 }, e: 1 };
    const mine = { a: 2, b: 2, c: 1, d: { x: 2 }, e: 5 };
    const theirs = { a: 3, b: 1, c: 4, d: { x: 2 }, e: 5 };
    expect(differences(base, mine, theirs)).toEqual([
      { name: 'a', base: 1, mine: 2, theirs: 3, isConflict: true },
      { name: 'c', base: 1, mine: 1, theirs: 4, isConflict: false },
    ]);
  });
});
