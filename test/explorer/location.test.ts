import { describe, expect, test } from 'vitest';
import { addressOf, queryOfLink, requestTarget, type View, viewOf, withParameters } from '../../explorer/model/location.ts';

const parse = (mount: string, address: string) => {
  const url = new URL(address, 'http://127.0.0.1');
  return viewOf(mount, url.pathname, url.search);
};

describe('the address of a view', () => {
  const views: readonly View[] = [
    { kind: 'home' },
    { kind: 'list', api: 'person', query: 'lastName[contains]=an&sort=-birthdate,lastName&page=2' },
    { kind: 'create', api: 'person', query: '' },
    { kind: 'entity', api: 'tag', id: 'a/b?c#d é', query: '' },
    { kind: 'entity', api: 'tag', id: '~new', query: '' },
    { kind: 'entity', api: 'tag', id: '.', query: '' },
    { kind: 'edit', api: 'tag', id: '..', query: '' },
    { kind: 'action', api: 'tag', id: '..', action: 'close', method: 'POST', query: '' },
    { kind: 'counts', api: 'tag', query: 'by=kind' },
    { kind: 'entity', api: 'tag', id: 'new', query: '' },
    { kind: 'edit', api: 'person', id: '5', query: '{region}=north' },
    { kind: 'action', api: 'course', id: '3', action: 'close', method: 'POST', query: '' },
    { kind: 'action', api: 'course', id: null, action: 'mine', method: 'GET', query: 'page=2' },
    { kind: 'action', api: 'status', id: null, action: '/api/status.json', method: 'GET', query: '' },
  ];

  test.each(views)('leads back to $kind', (view) => {
    expect(parse('', addressOf('', view))).toEqual(view);
    expect(parse('/v1', addressOf('/v1', view))).toEqual(view);
  });

  test('shows an id that is not encoded as it is', () => {
    expect(viewOf('', '/explorer/tag/50%', '')).toEqual({ kind: 'entity', api: 'tag', id: '50%', query: '' });
  });
});

describe('the query of a list', () => {
  test('keeps brackets readable, and begins at the first page after each change', () => {
    expect(withParameters('page=3&after=abc&sort=title', { 'lastName[contains]': 'an & co' })).toBe(
      'sort=title&lastName[contains]=an%20%26%20co',
    );
    expect(withParameters('sort=title&q=x', { sort: null })).toBe('q=x');
    expect(withParameters('constructor=a&toString=b', { q: 'x' })).toBe('constructor=a&toString=b&q=x');
  });

  test('is taken from links of the server, whatever their base URL', () => {
    expect(queryOfLink('https://example.org/v1/api/person.json?page=2&after=x')).toBe('page=2&after=x');
    expect(queryOfLink('/api/person.json')).toBe('');
  });

  test('is that of the request, except for placeholders of the path', () => {
    expect(requestTarget({ path: '/api/{region}/course/{id}.json', inPath: [] }, '{region}=no/rth&fields=id', '7')).toBe(
      '/api/no%2Frth/course/7.json?fields=id',
    );
    expect(requestTarget({ path: '/api/tag/{id}.json', inPath: [] }, '', '../x')).toBe('/api/tag/..%2Fx.json');
  });
});
