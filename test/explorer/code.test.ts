import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { clientOf, curlOf, fetchOf, type SentRequest } from '../../explorer/model/code.ts';
import { type OpenApiDocument, readDocument } from '../../explorer/model/document.ts';

const origin = 'http://127.0.0.1:3000';
const bearer = { header: 'Authorization', prefix: 'Bearer ' };
const hostile = `it's $HOME "q" \`id\` \\ \n \${x} \u2028 __`;
const request: SentRequest = {
  method: 'PATCH',
  target: "/api/person/5.json?lastName[contains]=O'Hara&x=$(id)",
  headers: { 'If-Match': '"abc"' },
  body: { lastName: hostile, 'first-name': null, tags: [{ id: 1 }], ['__proto__']: 1 },
};

/** What curl would get, printed by the shell instead. */
function argumentsOf(command: string): string[] {
  const script = `curl() { for a in "$@"; do printf '%s\\0' "$a"; done; }\n${command}`;
  return execFileSync('sh', ['-c', script], { encoding: 'utf8', env: { TOKEN: 'secret', HOME: '/home/x' } })
    .split('\0')
    .slice(0, -1);
}

/** What fetch would get. */
async function fetched(code: string): Promise<{ url: string; options: { method?: string; headers?: object; body?: string } }> {
  const AsyncFunction = (async () => {}).constructor as new (...texts: string[]) => (...values: unknown[]) => Promise<void>;
  let found: unknown;
  const fake = async (url: string, options = {}) => {
    found = { url, options };
    return { json: async () => null };
  };
  await new AsyncFunction('fetch', 'token', 'console', code)(fake, 'secret', { log: () => {} });
  return found as never;
}

describe('a request as code', () => {
  test('reaches curl as it is, whatever it contains', () => {
    expect(argumentsOf(curlOf(origin, request, bearer))).toEqual([
      ...['-g', origin + request.target, '-X', 'PATCH', '-H', 'Authorization: Bearer secret', '-H', 'If-Match: "abc"'],
      ...['-H', 'Content-Type: application/json', '--data-raw', JSON.stringify(request.body)],
    ]);
  });

  test('reaches fetch as it is, whatever it contains', async () => {
    const { url, options } = await fetched(fetchOf(origin, request, bearer));
    expect(url).toBe(origin + request.target);
    expect(options.method).toBe('PATCH');
    expect(options.headers).toEqual({ Authorization: 'Bearer secret', 'If-Match': '"abc"', 'Content-Type': 'application/json' });
    expect(options.body).toBe(JSON.stringify(request.body));
  });

  test('needs no options for a public GET', async () => {
    const get = { method: 'GET', target: '/api/center.json', headers: {} };
    expect(curlOf(origin, get, null)).toBe(`curl -g '${origin}/api/center.json'`);
    expect(fetchOf(origin, get, null)).toBe(
      `const response = await fetch('${origin}/api/center.json');\nconst data = await response.json();`,
    );
  });
});

describe('a call of the typed client', () => {
  const id = { name: 'id', in: 'path', required: true, schema: { type: 'integer' } } as const;
  const responses = { 200: {} };
  const body = { content: { 'application/json': { schema: {} } } };
  const document: OpenApiDocument = {
    info: { title: 'x', version: '1' },
    paths: {
      '/api/third-party.json': {
        get: {
          tags: ['third_party'],
          'x-action': '_index',
          responses,
          parameters: [
            { name: 'page', in: 'query', schema: { type: 'integer' } },
            { name: 'name[in]', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
          ],
        },
      },
      '/api/third-party/{id}.json': {
        patch: { tags: ['third_party'], 'x-action': '_entity', responses, parameters: [id], requestBody: body },
      },
      '/api/third-party/{id}/tags.json': {
        post: {
          tags: ['third_party'],
          'x-action': 'tag',
          'x-association': 'tags',
          responses,
          parameters: [id],
          requestBody: body,
        },
      },
      '/api/third-party/{id}/seat.json': {
        post: { tags: ['third_party'], 'x-action': 'seat', responses, parameters: [id] },
        delete: { tags: ['third_party'], 'x-action': 'seat', responses, parameters: [id] },
      },
      '/api/third-party/{id}/close.json': {
        post: { tags: ['third_party'], 'x-action': 'close', responses, parameters: [id], requestBody: body },
      },
      '/api/third-party/createMany.json': { post: { tags: ['third_party'], 'x-action': 'createMany', responses } },
      '/api/status.json': { get: { tags: ['third_party'], operationId: 'appStatus', responses } },
    },
  };
  const [api] = readDocument(document).apis;
  const callOf = (operation: unknown, sent: Partial<SentRequest> & { target: string }) =>
    clientOf(
      origin,
      api!,
      operation as never,
      { method: 'GET', headers: {}, ...sent },
      { header: 'Authorization', prefix: 'Bearer ' },
    )
      .split('\n')
      // without the import and the client
      .filter((_, index) => index > 1)
      .filter((line) => !line.startsWith('const client ='))
      .join('\n');

  test('names functions as the generated client does', () => {
    expect(callOf(api?.list, { target: '/api/third-party.json?page=2&name[in]=a,b' })).toBe(
      "const data = await client.thirdParty.list({\n  page: 2,\n  'name[in]': [\n    'a',\n    'b',\n  ],\n});",
    );
    expect(
      callOf(api?.patch, { target: '/api/third-party/5.json', body: { name: "O'Hara" }, headers: { 'If-Match': '"x"' } }),
    ).toBe("const data = await client.thirdParty.update(5, {\n  name: 'O\\'Hara',\n}, {\n  ifMatch: '\"x\"',\n});");
    expect(callOf(api?.associations.get('tags')?.add, { target: '/api/third-party/5/tags.json', body: { id: 1 } })).toBe(
      'const data = await client.thirdParty.addTag(5, {\n  id: 1,\n});',
    );
    expect(callOf(api?.actions[3], { target: '/api/third-party/createMany.json' })).toBe(
      'const data = await client.thirdParty.createManyAction();',
    );
    expect(callOf(api?.actions[4], { target: '/api/status.json' })).toBe('const data = await client.thirdParty.appStatus();');
    expect(callOf(api?.actions[1], { target: '/api/third-party/5/seat.json' })).toBe(
      'const data = await client.thirdParty.seatDelete(5);',
    );
  });

  test('keeps the place of a body that is not sent', () => {
    const sent = { target: '/api/third-party/5/close.json', headers: { 'Idempotency-Key': 'a' } };
    expect(callOf(api?.actions[2], sent)).toBe(
      "const data = await client.thirdParty.close(5, undefined, {\n  idempotencyKey: 'a',\n});",
    );
  });

  test('says which parameters the client has no type for', () => {
    expect(callOf(api?.list, { target: '/api/third-party.json?fields=id&name[in]=a%5C,b,c' })).toBe(
      "// the client has no type for fields\nconst data = await client.thirdParty.list({\n  fields: 'id',\n  'name[in]': [\n    'a,b',\n    'c',\n  ],\n} as never);",
    );
  });

  test('sends an API key in its header', () => {
    const sent = { method: 'GET', target: '/api/third-party.json', headers: {} };
    const text = clientOf(origin, api!, api?.list as never, sent, { header: 'X-Api-Key', prefix: '' });
    expect(text).toContain("headers: { 'X-Api-Key': token } });");
  });
});
