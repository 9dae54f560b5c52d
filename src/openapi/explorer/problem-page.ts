import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { FastifyRequest } from 'fastify';
import { targetOf } from '../../response/request-target.ts';
import { escapeHtml } from '../pages/html.ts';
import { plainPage } from '../pages/plain-page.ts';
import { quoted } from '../pages/sample-users.ts';

interface ProblemPageOptions {
  readonly assets: string;
  readonly directory: string;
  /** Addresses; null if the page does not exist. */
  readonly links: { readonly docs: string | null; readonly explorer: string; readonly home: string | null };
  readonly login: string | null;
  /** The address that explains requests; null if there is none. */
  readonly explain: string | null;
  /** The name of the application. */
  readonly title: string;
}

interface ProblemDocument {
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
}

const advice: Readonly<Record<number, string>> = {
  401: 'Sign in first. A browser sends no token with an address that you open, so open the data in the explorer and sign in there.',
  403: 'You are signed in, but your roles do not allow this. Sign in as another user in the explorer.',
  404: 'Check the address. Rows that you may not see return the same response as rows that do not exist.',
};

/** A page about a problem. It is made of the problem document, so it reveals nothing else. */
export function problemPage(
  { code, detail, status, title }: ProblemDocument,
  request: FastifyRequest,
  { assets, directory, explain, links, login, title: application }: ProblemPageOptions,
) {
  const target = request.url.replace(/^https?:\/\/[^/?]*/i, '');
  const choices = [
    [login, 'Sign in', 'the login page of the application'],
    [links.explorer, 'Explorer', 'sign in, browse and edit data'],
    [links.docs, 'Docs', 'all routes, with their roles'],
    [links.home, 'Start page', application],
    [
      explain && `${explain}?${new URLSearchParams({ method: request.method, path: target })}`,
      'Why?',
      'each step of this request',
    ],
    // the browser sends this page as Referer, and then gets the JSON
    [ownPath(target), 'JSON', 'this response, as programs get it'],
  ] as const;
  const list = choices.flatMap(([to, name, about]) =>
    to === null ? [] : [`<a href="${escapeHtml(to)}"><b>${name}</b> <span>${escapeHtml(about)}</span></a>`],
  );
  const command = explainCommand(request.method, target, directory);
  const section =
    command === null
      ? ''
      : `<section aria-labelledby="explain">
<h2 id="explain">Explain</h2>
<p>This command prints each step of this request, with the decision of every check:</p>
<ul><li><code>${escapeHtml(command)}</code></li></ul>
</section>
`;
  const body = `<main>
<header>
<h1>${escapeHtml(title)} <span class="version">${status}</span></h1>
<p class="about">${escapeHtml(detail)}</p>
<p class="about">${escapeHtml(advice[status] ?? '')}</p>
</header>
<nav aria-label="Links">
${list.join('\n')}
</nav>
${section}</main>
<footer>${escapeHtml(code)} · Served by Declarest in development</footer>`;
  const page = plainPage(`${status} ${title}`, body, assets);
  return { html: page.html, headers: { ...page.headers, 'referrer-policy': 'same-origin' } };
}

/** The path and query as a link, which a browser must not read as a host name. */
function ownPath(target: string): string {
  return target.startsWith('//') ? `/.${target}` : target;
}

/** The command that explains a request; null if the application has no directory to name. */
function explainCommand(method: string, target: string, directory: string): string | null {
  if (!existsSync(join(directory, 'config'))) return null;
  const { path, query } = targetOf(target);
  const place = relative(process.cwd(), directory);
  const given = [method, query === '' ? path : `${path}?${query}`, ...(place === '' ? [] : [place])];
  return `npx declarest explain ${given.map(quoted).join(' ')}`;
}
