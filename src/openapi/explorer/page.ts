import { createHash } from 'node:crypto';
import { assetHeaders, escapeHtml, ownFilesOnly, pageHeaders } from '../pages/html.ts';
import { StaticResponse } from '../static-response.ts';
import type { ExplorerFiles } from './files.ts';

/** The settings that the script of the page reads from `<meta name="declarest">`. All paths begin at the root of the origin. */
export interface ExplorerSettings {
  /** The path of the OpenAPI document. */
  readonly openapi: string;
  /** The prefix of the paths of all routes. */
  readonly mount: string;
  readonly login: string | null;
  /** Lists the sample users. */
  readonly sampleUsers: string | null;
  readonly development: boolean;
  /** Explains a request. */
  readonly explain: string | null;
}

/** Reads the files once. The names of script and style sheet get hashes of their contents, so that browsers can cache them for ever. */
export function makeExplorerPage(files: ExplorerFiles) {
  const assets = new Map<string, StaticResponse>();
  const names = (['js', 'css'] as const).map((ending) => {
    const { brotli, bytes } = files.read(`explorer.${ending}`);
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    const unique = `explorer.${hash}.${ending}`;
    assets.set(unique, new StaticResponse(bytes, assetHeaders(ending), brotli));
    return [`explorer.${ending}`, unique] as const;
  });
  const template = files.read('index.html').bytes.toString();
  // links to the JSON of a list send the page as Referer, so that the browser gets JSON (navigation.ts)
  const headers = { ...pageHeaders(ownFilesOnly), 'referrer-policy': 'same-origin' };

  /** The page, whose assets are below `folder`. */
  function html(settings: ExplorerSettings, folder: string): StaticResponse {
    const meta = `<meta name="declarest" content="${escapeHtml(JSON.stringify(settings))}">\n`;
    const linked = names.reduce(
      (page, [name, unique]) => page.replace(`"${name}"`, () => `"${escapeHtml(`${folder}/${unique}`)}"`),
      template,
    );
    return new StaticResponse(
      linked.replace('<title>', (title) => meta + title),
      headers,
    );
  }

  return { assets, html };
}
