import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { HealthDeclaration } from '../declaration/types.ts';
import { problem } from '../errors.ts';
import { targetOf } from '../response/request-target.ts';
import type { Explanations } from './explorer/explain.ts';
import { explorerFiles } from './explorer/files.ts';
import { mountExplorer } from './explorer/mount.ts';
import { infoOf } from './info.ts';
import type { DocsPage } from './pages/docs-page.ts';
import { filesMissing, pageFiles } from './pages/page-files.ts';
import { placesOf, type ServedParts } from './places.ts';
import type { Described } from './schemas/schemas.ts';
import { once, StaticResponse } from './static-response.ts';

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/**
 * Serves the document, the docs page, the explorer and the greeting, if they are declared and their paths are free. The first
 * request for one of them loads its code and generates it. `health` has the paths of our own server's health checks; null on a
 * host's server.
 */
export function mountDescription(
  app: FastifyInstance,
  described: Described,
  parts: ServedParts,
  health: HealthDeclaration | null,
  explanations: Explanations | null = null,
): void {
  const { declaration, directory, records } = described;
  const prefix = app.prefix.replace(/\/$/, '');
  const method: ('GET' | 'HEAD')[] = ['GET', 'HEAD'];
  // `hide` keeps the pages out of a document that @fastify/swagger makes of the host's routes
  const schema: object = { hide: true };
  const serve = (url: string, handler: Handler) => app.route({ method, url, schema, exposeHeadRoute: false, handler });
  const isTaken = (path: string) => app.hasRoute({ method: 'GET', url: `${prefix}${path}` });
  const { path, home, ...places } = placesOf(declaration, records, parts, isTaken);
  const files = pageFiles(directory);
  const loadExplorer = files && explorerFiles(files.assets);
  const isMissing = (places.docs !== null && !files) || (places.explorer !== null && !loadExplorer);
  if (isMissing) app.log.warn(filesMissing);
  const docs = files && places.docs;
  const explorer = loadExplorer && places.explorer;
  const info = infoOf(directory, declaration.openapi);
  const { live = null, ready = null } = health ?? {};

  if (path !== null) {
    const document = once(async () => {
      const { openApiInTurns } = await import('./document.ts');
      const text = JSON.stringify(await openApiInTurns(described, info, { prefix, ownServer: health !== null }));
      return new StaticResponse(text, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' });
    });
    serve(path, async (request, reply) => (await document()).send(request, reply));
  }
  if (path !== null && docs !== null && files) {
    const page = once(async (): Promise<DocsPage> => {
      const { makeDocsPage } = await import('./pages/docs-page.ts');
      return makeDocsPage(described, info, { path, docs, home, files });
    });
    if (described.declaration.security.sampleUsers.length > 0 && !described.production) {
      serve(`${docs}/token/:user`, async (request, reply) => {
        const { sampleToken } = await import('./pages/sample-users.ts');
        return sampleToken(described, request, reply);
      });
    }
    serve(docs, async (request, reply) => (await page()).html.send(request, reply));
    // a name is looked up in the files of the page, never on disk
    serve(`${docs}/:name`, async (request, reply) => {
      const { name } = request.params as { name: string };
      if (name === '') return reply.redirect(`../${docs.slice(docs.lastIndexOf('/') + 1)}`, 308);
      const file = (await page()).files.get(name);
      if (!file) throw problem('not_found', { path: targetOf(request.url).path });
      return file.send(request, reply);
    });
  }
  if (path !== null && explorer !== null && loadExplorer)
    mountExplorer(serve, described, { path: explorer, openapi: path, prefix, load: loadExplorer, explanations });
  if (home) {
    const load = once(() => import('./pages/greeting.ts'));
    serve('/', async (request, reply) => {
      const { greet } = await load();
      const base = `${declaration.server.baseUrl}${targetOf(request.url).path.replace(/\/+$/, '')}`;
      // without a document, the greeting lists no routes either
      const shown = path === null ? [] : records;
      const assets = files?.assets ?? null;
      return greet({ info, records: shown, links: { docs, explorer, path, live, ready }, base, assets }, request, reply);
    });
  }
}
