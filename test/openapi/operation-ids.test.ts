import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { ApiController, DeclarationErrors } from '../../src/index.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { pluralOf, withArticle } from '../../src/openapi/english.ts';

const Tag = defineEntity({ name: 'Tag', properties: { id: p.integer().primary().groups('read') } });
const Course = defineEntity({
  name: 'Course',
  properties: { id: p.integer().primary().groups('read'), tags: () => p.manyToMany(Tag).groups('read') },
});
const Note = defineEntity({ name: 'Note', properties: { id: p.integer().primary().groups('read') } });
const Entry = defineEntity({ name: 'Entry', properties: { id: p.integer().primary().groups('read') } });

class CourseController extends ApiController<object> {
  publishApi() {}
  mineApi() {}
  seatApi() {}
  createApi() {}
  csvApi() {}
}

const every = { GET: true, HEAD: true, POST: true, PATCH: true, PUT: true, DELETE: true };

/** The ids and summaries of the operations of an application. */
async function operations(actions: object = {}) {
  const course = {
    class: 'Course',
    base_path: '/course',
    controller: 'CourseController',
    actions: {
      _index: { methods: { GET: true, HEAD: true, POST: true }, formats: ['json', 'csv'] },
      _entity: { methods: { GET: true, HEAD: true, PATCH: true, PUT: true, DELETE: true } },
      tag: { association: { property: 'tags' } },
      publish: { methods: { POST: true } },
      mine: { 'single-collection': 'collection', methods: { GET: true, HEAD: true } },
      seat: { methods: { POST: true, DELETE: true } },
      create: { methods: { POST: true } },
      ...actions,
    },
  };
  const both = { _index: { methods: { GET: true, POST: true } }, _entity: null };
  const application = await loadApplication({
    app_main: {
      apis: {
        course,
        notes: { class: 'Note', base_path: '/note', actions: both },
        diary_entry: { class: 'Entry', base_path: '/entry', actions: both },
      } as never,
      database: { url: 'sqlite::memory:' },
    },
    models: [Course, Tag, Note, Entry],
    controllers: [CourseController],
  });
  const { paths } = openApiDocument(application, { title: 'x', version: '1' }) as any;
  await application.mapper.close();
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, { operationId: string; summary: string }>).map(
      ([method, { operationId, summary }]) => [`${method} ${path}`, operationId, summary] as const,
    ),
  );
}

async function errorsOf(actions: object): Promise<string> {
  const failure: unknown = await operations(actions).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(DeclarationErrors);
  return (failure as Error).message;
}

describe('operation ids', () => {
  test('are readable names, unique in the document, with matching summaries', async () => {
    const found = await operations();
    expect(found).toEqual(
      expect.arrayContaining([
        ['get /course.json', 'listCourses', 'List courses'],
        ['head /course.json', 'headCourses', 'List courses'],
        ['get /course.csv', 'listCoursesAsCsv', 'List courses'],
        ['post /course.json', 'createCourse', 'Create a course'],
        ['get /course/{id}.json', 'getCourse', 'Get a course'],
        ['patch /course/{id}.json', 'updateCourse', 'Update a course'],
        ['put /course/{id}.json', 'replaceCourse', 'Replace a course'],
        ['delete /course/{id}.json', 'deleteCourse', 'Delete a course'],
        ['post /course/{id}/tag.json', 'addCourseTags', 'Add to the tags of a course'],
        ['delete /course/{id}/tag.json', 'removeCourseTags', 'Remove from the tags of a course'],
        ['post /course/{id}/publish.json', 'publishCourse', 'Course: publish'],
        ['get /course/mine.json', 'mineCourses', 'Courses: mine'],
        ['post /course/{id}/seat.json', 'postCourseSeat', 'Course: seat'],
        ['delete /course/{id}/seat.json', 'deleteCourseSeat', 'Course: seat'],
        // createCourse is taken by the list
        ['post /course/{id}/create.json', 'createCourse2', 'Course: create'],
        ['get /note.json', 'listNotes', 'List notes'],
        ['get /note/{id}.json', 'getNote', 'Get a note'],
        ['get /entry.json', 'listDiaryEntries', 'List diary entries'],
        ['post /entry.json', 'createDiaryEntry', 'Create a diary entry'],
      ]),
    );
    expect(new Set(found.map(([, id]) => id)).size).toBe(found.length);
  });

  test('can be declared for an action and for each method', async () => {
    const found = await operations({
      _index: { methods: { GET: true, HEAD: true, POST: true }, formats: ['json', 'csv'], operation_id: { GET: 'allCourses' } },
      publish: { methods: { POST: true }, operation_id: 'announce' },
      mine: { 'single-collection': 'collection', methods: { GET: true, HEAD: true }, operation_id: { HEAD: 'countMine' } },
    });
    const idOf = (operation: string) => found.find(([name]) => name === operation)?.[1];
    expect(idOf('get /course.json')).toBe('allCourses');
    expect(idOf('get /course.csv')).toBe('allCoursesAsCsv');
    expect(idOf('head /course.json')).toBe('headAllCourses');
    expect(idOf('post /course.json')).toBe('createCourse');
    expect(idOf('post /course/{id}/publish.json')).toBe('announce');
    expect(idOf('get /course/mine.json')).toBe('mineCourses');
    expect(idOf('head /course/mine.json')).toBe('countMine');
  });

  test.each([
    [
      { publish: { methods: { POST: true }, operation_id: 'listNotes' } },
      'app_main.apis.course.actions.publish.operation_id: the operation id "listNotes" is also that of GET /note.{_format}; operation ids must be unique',
    ],
    [
      { seat: { methods: { POST: true, DELETE: true }, operation_id: 'seat' } },
      'app_main.apis.course.actions.seat.operation_id: the action has several methods; write an id for each: { POST: …, DELETE: … }',
    ],
    [
      { publish: { methods: { POST: true }, operation_id: { GET: 'x' } } },
      'app_main.apis.course.actions.publish.operation_id.GET: GET is not enabled for this action; enabled: POST',
    ],
    [
      { seat: { methods: { POST: true, DELETE: true }, operation_id: { POST: 'x', DELETE: 'x' } } },
      'the operation id "x" is also that of DELETE /course/{id}/seat.{_format}',
    ],
    [{ publish: { methods: { POST: true }, operation_id: 'publish it' } }, 'must be an identifier such as "publishCourse"'],
  ])('are checked at startup: %j', async (actions, message) => {
    expect(await errorsOf(actions)).toContain(message);
  });

  test('of every method of an action are different', async () => {
    const found = await operations({ publish: { methods: every } });
    expect(new Set(found.map(([, id]) => id)).size).toBe(found.length);
  });
});

test.each([
  ['person', 'persons', 'a person'],
  ['city', 'cities', 'a city'],
  ['day', 'days', 'a day'],
  ['class', 'classes', 'a class'],
  ['box', 'boxes', 'a box'],
  ['branch', 'branches', 'a branch'],
  ['entity', 'entities', 'an entity'],
  ['user', 'users', 'a user'],
  ['unit', 'units', 'a unit'],
  ['hour', 'hours', 'an hour'],
  ['upload', 'uploads', 'an upload'],
])('the plural of %s is %s, and one of them is %s', (noun, plural, one) => {
  expect([pluralOf(noun), withArticle(noun)]).toEqual([plural, one]);
});
