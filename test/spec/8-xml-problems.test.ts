import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect } from 'vitest';
import { ApiController, problem } from '../../src/index.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { databases } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { parseXml } from '../support/xml.ts';
import { everything, useApplication } from './fixtures/use-application.ts';

const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read'),
    text: p.string().length(5).groups('read', 'write'),
    kind: p.enum(['a', 'b']).groups('read', 'write'),
  },
});

class NoteController extends ApiController<object> {
  failApi(): unknown {
    throw problem('bad_request', { reason: 'a < b & c' });
  }
}

const actions = { ...everything, fail: { methods: { GET: true }, 'single-collection': 'collection' } } as const;
const options = {
  app_main: {
    formats: ['json', 'xml', 'csv', 'ndjson'],
    apis: {
      note: { class: Note, base_path: '/note', controller: NoteController, base_role: null, actions },
      plain: { class: Note, base_path: '/plain', actions: everything, formats: ['json'] },
      guarded: { class: Note, base_path: '/guarded', actions: { _index: { roles: { GET: 'ROLE_X' } } } },
    },
  },
  models: [Note],
  controllers: [NoteController],
} as const;

const xml = 'application/problem+xml; charset=utf-8';
const json = 'application/problem+json; charset=utf-8';

describe.each(databases)('problem documents of XML requests on %s', (kind) => {
  const running = useApplication(kind, options as never);

  test.each([
    ['GET', '/note/99.xml', 404, 'entity_not_found'],
    ['GET', '/note.xml?page=0', 400, 'invalid_parameter'],
    ['GET', '/note/fail.xml', 400, 'bad_request'],
    ['GET', '/guarded.xml', 401, 'authentication_required'],
    ['DELETE', '/note.xml', 405, 'method_not_allowed'],
    ['GET', '/plain.xml', 404, 'unknown_format'],
    ['GET', '/nothing.xml', 404, 'not_found'],
    ['POST', '/note.xml', 400, 'invalid_body'],
  ])('%s %s: %i %s', async (method, path, status, code) => {
    const answer = await running.request(method, path);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, xml]);
    expect(answer.text).toMatch(
      /^<\?xml version="1.0" encoding="UTF-8"\?>\n<problem xmlns="urn:ietf:rfc:7807"><type>urn:declarest:problem:/,
    );
    expect(answer.text).toContain(`<status>${status}</status>`);
    expect(answer.text).toContain(`<code>${code}</code>`);
    expect(answer.text).toContain(`<instance>${path.split('?')[0]}</instance>`);
  });

  test('have members and lists as in RFC 9457', async () => {
    const { headers, status, text } = await running.request('POST', '/note.xml', { json: { text: 'too long', kind: 'c' } });
    expect([status, headers.get('content-type')]).toEqual([422, xml]);
    expect(text).toContain('<violations><i><propertyPath>text</propertyPath>');
    expect(text).toContain('<parameters><allowed><i>a</i><i>b</i></allowed></parameters>');
    expect((await running.request('GET', '/note/fail.xml')).text).toContain('a &lt; b &amp; c');
    expect(() => parseXml(text.replace(' xmlns="urn:ietf:rfc:7807"', ''))).not.toThrow();
  });

  test.each(['json', 'csv', 'ndjson'])('stay JSON in %s', async (format) => {
    const { headers, json: document, status } = await running.request('GET', `/note/99.${format}`);
    expect([status, headers.get('content-type'), document.code]).toEqual([404, json, 'entity_not_found']);
  });

  test('are XML too if the gate rejects a request', async () => {
    const { headers, status } = await running.request('GET', `/note/${'1'.repeat(9000)}.xml`);
    expect([status, headers.get('content-type')]).toEqual([414, xml]);
  });

  test('are described in OpenAPI', () => {
    const document = openApiDocument(running.app.application, { title: 'x', version: '1' }) as any;
    const contentOf = (path: string) => {
      const { $ref } = document.paths[path].get.responses[404];
      return Object.keys(document.components.responses[$ref.split('/').at(-1)].content);
    };
    expect(contentOf('/note/{id}.xml')).toEqual(['application/problem+xml']);
    for (const format of ['json', 'csv', 'ndjson'])
      expect(contentOf(`/note/{id}.${format}`)).toEqual(['application/problem+json']);
  });
});

describe.each(databases)('an application without XML on %s', (kind) => {
  const { app_main, ...rest } = options;
  const running = useApplication(kind, { ...rest, app_main: { apis: { plain: app_main.apis.plain } } } as never);

  test('returns errors in JSON for any requested format', async () => {
    const { headers, json: document } = await running.request('GET', '/plain.xml');
    expect([headers.get('content-type'), document.code]).toEqual([json, 'unknown_format']);
  });
});
