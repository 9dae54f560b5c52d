import type { FastifyReply, FastifyRequest } from 'fastify';
import { addVary } from '../../response/vary.ts';
import { orderRecords } from '../../route/order.ts';
import { isHidden, type RouteRecord } from '../../route/record.ts';
import type { Info } from '../info.ts';
import { ownerOf } from '../operations.ts';
import { escapeHtml } from './html.ts';
import { plainPage } from './plain-page.ts';

interface Greeting {
  readonly info: Info;
  readonly records: readonly RouteRecord[];
  /** Paths; null if the page does not exist. */
  readonly links: Readonly<Record<'docs' | 'explorer' | 'path' | 'live' | 'ready', string | null>>;
  /** The prefix of every path. */
  readonly base: string;
  /** The folder with its style sheet; null if it is not there. */
  readonly assets: string | null;
}

type GreetedApi = ReturnType<typeof apisOf>[number];
type GreetedRoute = GreetedApi['routes'][number];

/** Describes the application: as a page to browsers, as JSON to other clients. */
export function greet(greeting: Greeting, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  addVary(reply, 'accept');
  if (wantsPage(request.headers.accept)) {
    const { html, headers } = pageOf(greeting);
    return reply.headers(headers).send(html);
  }
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' };
  return reply.headers(headers).send(JSON.stringify(jsonOf(greeting)));
}

/** Browsers name `text/html` in `Accept`; other clients accept anything, or JSON. */
function wantsPage(accept: string | undefined): boolean {
  return /\btext\/html\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(accept ?? '');
}

function jsonOf({ info, records, links, base }: Greeting) {
  const { title, version, description } = info;
  const { docs, explorer, path, ready } = links;
  return {
    name: title,
    version,
    ...(description !== undefined && { description }),
    apis: apisOf(records, base),
    links: {
      ...(docs !== null && { docs: `${base}${docs}` }),
      ...(explorer !== null && { explorer: `${base}${explorer}` }),
      ...(path !== null && { openapi: `${base}${path}` }),
      ...(ready !== null && { health: `${base}${ready}` }),
    },
  };
}

/** Each API with its routes, then the services with the routes that they load. */
function apisOf(records: readonly RouteRecord[], base: string) {
  const shown = orderRecords(records).filter((record) => !isHidden(record));
  const grouped = Map.groupBy(shown, ownerOf);
  // in the order of declaration, as in the document
  const names = new Set(records.map(ownerOf));
  return [...names].flatMap((name) => {
    const own = grouped.get(name) ?? [];
    if (own.length === 0) return [];
    const description = own[0]?.api?.description ?? null;
    const routes = own.map(({ path, methods, formats, roles }) => ({
      path: `${base}${path}`,
      methods,
      formats,
      public: methods.filter((method) => (roles[method] ?? []).length === 0),
    }));
    return [{ name, ...(description !== null && { description }), routes: routes.sort(byPath) }];
  });
}

function byPath(a: { path: string }, b: { path: string }): number {
  return a.path.length - b.path.length || (a.path < b.path ? -1 : 1);
}

function pageOf({ assets, info, records, links, base }: Greeting) {
  const { title, version, description } = info;
  const body = `<main>
<header>
<h1>${escapeHtml(title)} <span class="version">${escapeHtml(version)}</span></h1>
${description === undefined ? '' : `<p class="about">${escapeHtml(description)}</p>\n`}<nav aria-label="Links">
${linksOf(links, base)}
</nav>
</header>
${apisOf(records, base).map(sectionOf).join('\n')}
</main>
<footer>Served by Declarest</footer>`;
  return plainPage(title, body, assets);
}

function linksOf({ docs, explorer, path, live, ready }: Greeting['links'], base: string): string {
  const links = [
    [docs, 'Docs', 'read and try out'],
    [explorer, 'Explorer', 'browse and edit data'],
    [path, 'OpenAPI document', 'for programs and generators'],
    [ready ?? live, 'Health', 'is it ready?'],
  ] as const;
  return links
    .flatMap(([to, name, about]) =>
      to === null ? [] : [`<a href="${escapeHtml(base + to)}"><b>${name}</b> <span>${about}</span></a>`],
    )
    .join('\n');
}

function sectionOf({ name, description, routes }: GreetedApi, position: number): string {
  const rows = routes.map((route) => {
    const badges = route.methods.map((method) => `<span class="method ${method.toLowerCase()}">${method}</span>`).join(' ');
    return `<li>${pathLink(route)} <span class="methods">${publicMark(route)}${badges}</span></li>`;
  });
  return `<section aria-labelledby="api-${position}">
<h2 id="api-${position}">${escapeHtml(name)}</h2>
${description === undefined ? '' : `<p>${escapeHtml(description)}</p>\n`}<ul>
${rows.join('\n')}
</ul>
</section>`;
}

/** A path without placeholders is a link, if GET can follow it. */
function pathLink({ path, methods, formats }: GreetedRoute): string {
  const [first = 'json'] = formats;
  const target = path.replace('{_format}', first);
  const code = `<code>${pathText(path, formats)}</code>`;
  return methods.includes('GET') && !target.includes('{') ? `<a href="${escapeHtml(target)}">${code}</a>` : code;
}

/** Marks the methods that require no role. */
function publicMark({ methods, public: open }: GreetedRoute): string {
  if (open.length === 0) return '';
  const which = open.length === methods.length ? '' : `${open.join(', ')} `;
  return `<span class="public" title="No role required">${which}public</span> `;
}

/** A path with marked placeholders, and its formats. */
function pathText(path: string, formats: readonly string[]): string {
  const [first = 'json'] = formats;
  const whole = path.replace('{_format}', formats.length === 1 ? first : `{${formats.join(',')}}`);
  return escapeHtml(whole).replace(/\{[^}]*\}/g, '<i>$&</i>');
}
