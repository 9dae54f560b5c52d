import type { FastifyRequest } from 'fastify';

/**
 * Whether a browser opens an address as a page: it prefers HTML to JSON by name, as only browsers do. Links to JSON on pages of
 * the explorer, and on the page about a problem at the same `path`, lead to the JSON. Paths are as the browser sees them.
 */
export function isNavigation({ headers, host, method }: FastifyRequest, explorer: string, path: string): boolean {
  if (method !== 'GET' || !prefersHtml(headers.accept)) return false;
  const destination = headers['sec-fetch-dest'];
  if (destination !== undefined && destination !== 'document') return false;
  const from = pathOfOwn(headers.referer, host);
  return from === null || !(from === path || from === explorer || from.startsWith(`${explorer}/`));
}

/** The path of a page that a browser comes from; null if it is a page of another origin. */
function pathOfOwn(referer: string | undefined, host: string): string | null {
  if (referer === undefined || !URL.canParse(referer)) return null;
  const from = new URL(referer);
  const own = `${from.protocol}//${host}`;
  // without the default port
  return URL.canParse(own) && from.host === new URL(own).host ? from.pathname : null;
}

function prefersHtml(accept: string | undefined): boolean {
  if (accept === undefined || !/text\/html/i.test(accept)) return false;
  const qualities = new Map(accept.split(',').map(qualityOf));
  const json = ['application/json', 'application/*', '*/*'].find((type) => qualities.has(type));
  return (qualities.get('text/html') ?? 0) > (json === undefined ? 0 : (qualities.get(json) as number));
}

function qualityOf(range: string): readonly [string, number] {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const quality = parameters.find((part) => part.startsWith('q='));
  return [type, quality === undefined ? 1 : Number(quality.slice(2)) || 0];
}
