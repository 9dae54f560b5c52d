import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { htmlPage, pageHeaders } from './html.ts';

/** A page without scripts, with its headers. `assets` is the folder with its style sheet; without it, the page has no style. */
export function plainPage(title: string, body: string, assets: string | null) {
  const style = assets === null ? '' : readFileSync(join(assets, 'greeting.css'), 'utf8');
  const hash = createHash('sha256').update(style).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;
  const head = `<link rel="icon" href="data:,">\n<style>${style}</style>`;
  return { html: htmlPage(title, head, body), headers: pageHeaders(policy) };
}
