import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import type { SampleUserDeclaration } from '../../declaration/types.ts';
import type { Info } from '../info.ts';
import type { Described } from '../schemas/schemas.ts';
import { StaticResponse } from '../static-response.ts';
import { assetHeaders, type assetTypes, escapeHtml, htmlPage, ownFilesOnly, pageHeaders } from './html.ts';
import type { PageFiles } from './page-files.ts';
import { tokenOptions } from './sample-users.ts';

export type DocsPage = ReturnType<typeof makeDocsPage>;

/** The docs page and its files, by name. The names have hashes of the contents, so that browsers can cache them for ever. */
export function makeDocsPage(
  described: Described,
  info: Info,
  { path, docs, home, files: { assets, viewer } }: { path: string; docs: string; home: boolean; files: PageFiles },
) {
  const files = new Map<string, StaticResponse>();
  const folder = posix.basename(docs);
  const add = (name: string, ending: keyof typeof assetTypes, file: string): string => {
    const bytes = readAsset(file);
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    const unique = `${name}.${hash}.${ending}`;
    files.set(unique, new StaticResponse(bytes, assetHeaders(ending)));
    return `${folder}/${unique}`;
  };
  const own = (name: string) => join(assets, 'docs', name);
  const styles = [add('viewer', 'css', join(viewer, 'swagger-ui.css')), add('page', 'css', own('page.css'))];
  const scripts = [add('viewer', 'js', join(viewer, 'swagger-ui-bundle.js')), add('page', 'js', own('page.js'))];
  const icon = add('icon', 'svg', own('icon.svg'));
  const openapi = posix.relative(posix.dirname(docs), path);
  const command = described.production ? null : tokenCommand(described);
  const users = described.production ? [] : described.declaration.security.sampleUsers;
  const head = `<link rel="icon" href="${icon}">
${styles.map((href) => `<link rel="stylesheet" href="${href}">`).join('\n')}
${scripts.map((src) => `<script src="${src}" defer></script>`).join('\n')}`;
  const body = `<header class="bar">
${home ? `<a href="${posix.relative(posix.dirname(docs), '/') || '.'}/">← ${escapeHtml(info.title)}</a>` : '<span></span>'}
<a href="${escapeHtml(openapi)}">OpenAPI document</a>
</header>
${users.length + Number(command !== null) === 0 ? '' : `<aside class="hint" aria-label="Authorization">\n${tryAs(users, folder)}${command === null ? '' : `<p>Token for <b>Authorize</b>: <code>${escapeHtml(command)}</code></p>\n`}</aside>\n`}<main id="viewer"><p class="state" role="status">Loading…</p></main>
<noscript><p class="state">This page needs JavaScript. The <a href="${escapeHtml(openapi)}">OpenAPI document</a> does not.</p></noscript>`;
  const attributes = ` data-openapi="${escapeHtml(openapi)}" data-docs="${escapeHtml(docs)}"${described.production ? '' : ' data-development'}`;
  const html = htmlPage(info.title, head, body, attributes);
  return { html: new StaticResponse(html, pageHeaders(ownFilesOnly)), files };
}

/** A choice of sample users; the page gets a token of the chosen one. */
function tryAs(users: readonly SampleUserDeclaration[], folder: string): string {
  if (users.length === 0) return '';
  const options = users.map(({ name }) => `<option value="${escapeHtml(name)}">${escapeHtml(name)}</option>`);
  return `<p class="try-as"><label for="sample-user">Try as</label>
<select id="sample-user" data-tokens="${escapeHtml(folder)}/token/">
<option value="">anonymous</option>
${options.join('\n')}
</select> <span id="sample-state" role="status"></span></p>
`;
}

/** Large files are compressed in a built package. */
function readAsset(file: string): Buffer {
  return existsSync(file) ? readFileSync(file) : brotliDecompressSync(readFileSync(`${file}.br`));
}

/** The command that prints a token for the application; null if the command line cannot sign one. */
function tokenCommand({ declaration: { security }, directory, records }: Described): string | null {
  if (security.jwt?.jwks !== null || !existsSync(join(directory, 'config'))) return null;
  const place = relative(process.cwd(), directory);
  const given = place === '' ? '' : ` ${/^[\w./-]+$/.test(place) ? place : JSON.stringify(place)}`;
  const [sample] = security.sampleUsers;
  if (sample) return `npx declarest token${given} ${tokenOptions(sample)}`;
  const roles = records.flatMap((record) => Object.values(record.roles).flat());
  const role = roles.includes('ROLE_USER') ? 'ROLE_USER' : (roles.find((name) => name.startsWith('ROLE_')) ?? 'ROLE_USER');
  return `npx declarest token${given} --sub 1 --roles ${role}`;
}
