import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { targetOf } from '../../response/request-target.ts';
import { addVary } from '../../response/vary.ts';
import { isHidden, type RouteRecord } from '../../route/record.ts';
import { infoOf } from '../info.ts';
import { ownerOf } from '../operations.ts';
import { pageFiles } from '../pages/page-files.ts';
import { placesOf, type ServedParts } from '../places.ts';
import type { Described } from '../schemas/schemas.ts';
import { once } from '../static-response.ts';
import { basePath } from './base-path.ts';
import { explorerFiles } from './files.ts';
import { isNavigation } from './navigation.ts';

/**
 * Outside production, sends browsers a page instead of JSON: the explorer for a list or an entity, and a page with the next step
 * for 401, 403 and 404. Must be called before the routes of the application and plugins that compress are registered.
 */
export function offerExplorer(app: FastifyInstance, described: Described, parts: ServedParts, explains = false): void {
  const { declaration, directory, records } = described;
  const prefix = app.prefix.replace(/\/$/, '');
  const isTaken = (path: string) => app.hasRoute({ method: 'GET', url: `${prefix}${path}` });
  const { docs, explorer, home } = placesOf(declaration, records, parts, isTaken);
  const files = pageFiles(directory);
  if (explorer === null || files === null || explorerFiles(files.assets) === null) return;
  const shown = new Map(records.filter(isShown).map((record) => [`${prefix}${record.path}`, record]));
  const baseOf = ({ url }: FastifyRequest) => basePath(declaration.server.baseUrl, prefix, url);
  const pages = once(() => import('./problem-page.ts'));

  const show = async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    const base = baseOf(request);
    const view = viewOf(request, shown);
    if (isProblem(reply) && typeof payload === 'string') {
      const { problemPage } = await pages();
      const links = {
        docs: docs && base + docs,
        explorer: view === null ? base + explorer : `${base}${explorer}/${view}`,
        home: home ? `${base}/` : null,
      };
      const { title } = infoOf(directory, declaration.openapi);
      const explain = explains ? `${base}${explorer}/~explain` : null;
      const about = { assets: files.assets, directory, explain, links, login: declaration.explorer.login, title };
      const page = problemPage(JSON.parse(payload), request, about);
      addVary(reply, 'accept');
      reply.headers({ ...page.headers, 'cache-control': 'no-store' }).removeHeader('content-length');
      return page.html;
    }
    if (view === null || (reply.statusCode !== 200 && reply.statusCode !== 304)) return payload;
    if (payload instanceof Readable) payload.destroy();
    for (const name of ['content-type', 'content-length', 'etag', 'last-modified', 'link']) reply.removeHeader(name);
    addVary(reply, 'accept');
    reply.code(303).headers({ location: `${base}${explorer}/${view}`, 'cache-control': 'no-store' });
    return '';
  };
  app.addHook('onSend', (request, reply, payload, done) => {
    if (!request.headers.accept?.includes('text/html')) return done();
    const seen = basePath(declaration.server.baseUrl, '', request.url) + targetOf(request.url).path;
    if (!isNavigation(request, baseOf(request) + explorer, seen) || reply.hasHeader('content-encoding')) return done();
    show(request, reply, payload).then((shown) => done(null, shown), done);
  });
}

/** Whether the explorer has a view of a route: of the list and the entity of an API in the document. */
function isShown(record: RouteRecord): boolean {
  return !isHidden(record) && ['index', 'entity'].includes(record.action?.kind ?? '');
}

function isProblem(reply: FastifyReply): boolean {
  const type = String(reply.getHeader('content-type'));
  return [401, 403, 404].includes(reply.statusCode) && type.startsWith('application/problem+json');
}

/** The address of the view of a request, below the path of the explorer; null if there is none. */
function viewOf(request: FastifyRequest, shown: ReadonlyMap<string, RouteRecord>): string | null {
  const { path, query } = targetOf(request.url);
  const { pattern } = (request.routeOptions.config ?? {}) as { pattern?: string };
  const record = shown.get(pattern ?? '');
  if (!record || !path.endsWith('.json')) return null;
  const { id, ...others } = request.params as Readonly<Record<string, string>>;
  const place = [ownerOf(record), ...(id === undefined ? [] : [id])].map(segment).join('/');
  // the values of placeholders in the base path are parameters in braces
  const values = Object.entries(others).filter(([name]) => record.path.includes(`{${name}}`));
  const parameters = values.map(([name, value]) => `${encodeURIComponent(`{${name}}`)}=${encodeURIComponent(value)}`);
  const asked = [...parameters, ...(query === '' ? [] : [query])].join('&');
  return asked === '' ? place : `${place}?${asked}`;
}

/** Words of the explorer begin with a tilde. Browsers remove dots alone from paths. */
function segment(text: string): string {
  if (/^\.{1,2}$/.test(text)) return `~${text}`;
  return encodeURIComponent(text).replace(/^~/, '%7E');
}
