import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../../errors.ts';
import { targetOf } from '../../response/request-target.ts';
import type { Described } from '../schemas/schemas.ts';
import { once } from '../static-response.ts';
import { basePath } from './base-path.ts';
import type { Explanations } from './explain.ts';
import type { ExplorerFiles } from './files.ts';

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

interface ExplorerOptions {
  /** The path of the explorer. */
  readonly path: string;
  /** The path of the OpenAPI document. */
  readonly openapi: string;
  readonly prefix: string;
  readonly load: () => Promise<ExplorerFiles>;
  /** Never in production. */
  readonly explanations: Explanations | null;
}

/** Serves the explorer. Its code and its files are loaded by the first request. */
export function mountExplorer(
  serve: (url: string, handler: Handler) => void,
  described: Described,
  { explanations, load, openapi, path, prefix }: ExplorerOptions,
): void {
  const { declaration, production } = described;
  const { explorer, security, server } = declaration;
  const hasSampleUsers = security.sampleUsers.length > 0 && !production;
  const baseOf = (request: FastifyRequest) => basePath(server.baseUrl, prefix, request.url);
  const page = once(async () => (await import('./page.ts')).makeExplorerPage(await load()));
  const sendPage: Handler = async (request, reply) => {
    const base = baseOf(request);
    const settings = {
      openapi: base + openapi,
      mount: base,
      login: explorer.login,
      sampleUsers: hasSampleUsers ? `${base}${path}/~sample-users` : null,
      development: !production,
      explain: explanations && `${base}${path}/~explain`,
    };
    return (await page()).html(settings, base + path).send(request, reply);
  };

  serve(path, sendPage);
  // an API can have any name that does not begin with a tilde
  serve(`${path}/*`, async (request, reply) => {
    const { '*': name } = request.params as { '*': string };
    const asset = (await page()).assets.get(name);
    if (asset) return asset.send(request, reply);
    // such as the script of an earlier version
    if (/^explorer\.[^/]*(?:js|css)$/.test(name)) throw problem('not_found', { path: targetOf(request.url).path });
    return sendPage(request, reply);
  });
  if (explanations) {
    serve(`${path}/~explain`, async (request, reply) => {
      const { sendExplanation } = await import('./explain.ts');
      return sendExplanation(explanations, request, reply);
    });
  }
  if (!hasSampleUsers) return;
  serve(`${path}/~sample-users`, async (request, reply) => {
    const base = baseOf(request);
    const users = security.sampleUsers.map(({ name }) => ({
      name,
      token: `${base}${path}/~token/${encodeURIComponent(name)}`,
    }));
    return reply.headers({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }).send(users);
  });
  serve(`${path}/~token/:user`, async (request, reply) => {
    const { sampleToken } = await import('../pages/sample-users.ts');
    return sampleToken(described, request, reply);
  });
}
