// node:http and nothing else, on either database: DATABASE_URL=postgresql://… or sqlite:…
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { collection, pageSize } from './people.ts';

const { store } = process.env.DATABASE_URL?.startsWith('sqlite:') ? await import('./sqlite.ts') : await import('./postgres.ts');

function send(response: ServerResponse, value: unknown): void {
  if (value === undefined) {
    response.writeHead(404).end();
    return;
  }
  const text = JSON.stringify(value);
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  request.setEncoding('utf8');
  for await (const chunk of request) text += chunk;
  return JSON.parse(text);
}

async function handle(request: IncomingMessage): Promise<unknown> {
  const [path = '', search = ''] = (request.url ?? '').split('?');
  const [, resource, id, action] = path.split('/');
  const query = new URLSearchParams(search);
  const page = Number(query.get('page') ?? 1);
  const offset = (page - 1) * pageSize;
  if (resource === 'people' && id === 'kinds') return store.kinds();
  if (resource === 'people' && id !== undefined) {
    if (request.method === 'GET') return store.one(Number(id));
    if (request.method === 'PATCH') return store.patch(Number(id), String((await bodyOf(request)).email));
  }
  if (resource === 'people' && request.method === 'GET') {
    const center = query.has('center') ? Number(query.get('center')) : undefined;
    const [people, count] = await store.page(center, offset);
    return collection(people, count, path, page, center === undefined ? '' : `center=${center}&`);
  }
  if (resource === 'courses' && id === undefined && request.method === 'GET') {
    const [courses, count] = await store.courses(offset);
    return collection(courses, count, path, page);
  }
  if (resource === 'courses' && action === 'participants') {
    if (request.method === 'POST') return store.add(Number(id), Number((await bodyOf(request)).id));
    if (request.method === 'DELETE') return store.remove(Number(id), Number((await bodyOf(request)).id));
  }
  return undefined;
}

createServer((request, response) => {
  handle(request).then(
    (value) => send(response, value),
    (error) => {
      console.error(error);
      response.writeHead(500).end();
    },
  );
}).listen(Number(process.env.PORT), '127.0.0.1');
