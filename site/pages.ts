import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';

export const root = join(import.meta.dirname, '..');

/** The folders of `docs` in the order of the sidebar, with the titles of their sections. */
export const sections = {
  tutorial: 'Tutorial',
  'how-to': 'How-to',
  concepts: 'Concepts',
  reference: 'Reference',
  about: 'About',
  decisions: 'Decisions',
} as const;

export type Section = keyof typeof sections;

/** Pages outside of `docs`: their path on the site, and a title if the heading is not clear enough in a sidebar. */
const outside: Readonly<Record<string, { readonly path: string; readonly title?: string }>> = {
  'README.md': { path: 'tutorial/tour.md', title: 'Five-minute tour' },
  'bench/README.md': { path: 'about/benchmarks.md' },
  'CHANGELOG.md': { path: 'about/changelog.md' },
  'CONTRIBUTING.md': { path: 'about/contributing.md' },
  'THREATS.md': { path: 'about/threat-model.md' },
};

export interface Page {
  /** The path from the root of the repository. */
  readonly file: string;
  /** The path on the site, which ends in `.md` as VitePress requires. */
  readonly path: string;
  /** Null for the start page. */
  readonly section: Section | null;
  readonly title: string;
  readonly text: string;
}

/** Every page of the site: the start page, then section by section, in the order in which the start page links to them. */
export function readPages(): Page[] {
  const inDocs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((name) => posix.join('docs', name.replaceAll('\\', '/')))
    .filter((file) => file.endsWith('.md'));
  const pages = [...inDocs, ...Object.keys(outside)].map(readPage);
  const start = pages.find(({ section }) => section === null);
  if (!start) throw new Error('docs/README.md does not exist: write the start page of the site');
  const linked = linksIn(start.text).map((link) => posix.normalize(`docs/${link.split('#')[0]}`));
  const place = ({ file, path }: Page) => {
    if (path.endsWith('/index.md')) return -1;
    return linked.includes(file) ? linked.indexOf(file) : linked.length;
  };
  const names = Object.keys(sections);
  const sorted = pages
    .filter((page) => page !== start)
    .sort(
      (a, b) =>
        names.indexOf(a.section ?? '') - names.indexOf(b.section ?? '') || place(a) - place(b) || (a.path < b.path ? -1 : 1),
    );
  return [start, ...sorted];
}

function readPage(file: string): Page {
  const text = readFileSync(join(root, file), 'utf8');
  const path = outside[file]?.path ?? file.replace(/^docs\//, '').replace(/README\.md$/, 'index.md');
  const heading = /^# (.+)$/m.exec(text)?.[1];
  if (heading === undefined) throw new Error(`${file} has no heading: begin it with "# Title"`);
  return { file, path, section: sectionOf(file, path), title: outside[file]?.title ?? heading.replaceAll('`', '').trim(), text };
}

function sectionOf(file: string, path: string): Section | null {
  if (path === 'index.md') return null;
  const folder = path.split('/')[0] as string;
  if (Object.hasOwn(sections, folder)) return folder as Section;
  throw new Error(
    `${file} belongs to no section: move it to a folder of docs that site/pages.ts lists (${Object.keys(sections).join(', ')})`,
  );
}

/** The first paragraph of a page below its heading, as plain text on one line. */
export function summaryOf({ text }: Page): string {
  const paragraph = text
    .replace(/^```[\s\S]*?^```$/gm, '')
    .split(/\n{2,}/)
    .map((part) => part.trim())
    .find((part) => /^[\p{L}\p{N}`"[*_]/u.test(part));
  const plain = (paragraph ?? '').replace(/\s+/g, ' ').replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1');
  return /^.+?[.!?](?= |$)/.exec(plain)?.[0] ?? plain;
}

/** The targets of the links in a text, outside of blocks of code. */
export function linksIn(text: string): string[] {
  return [...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] as string);
}

/** The target of a link on a page. */
export type Target =
  | { readonly kind: 'page'; readonly page: Page; readonly anchor: string }
  /** A file or folder of the repository that is not on the site. */
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'other' };

export function targetOf(pages: readonly Page[], file: string, link: string): Target {
  if (/^([a-z]+:|#|\/)/i.test(link)) return { kind: 'other' };
  const [path = '', anchor] = link.split('#');
  const target = posix.join(posix.dirname(file), decodeURI(path)).replace(/\/$/, '');
  const isFolder = statSync(join(root, target), { throwIfNoEntry: false })?.isDirectory() ?? false;
  const page = pages.find((one) => one.file === (isFolder ? `${target}/README.md` : target));
  if (page) return { kind: 'page', page, anchor: anchor === undefined ? '' : `#${anchor}` };
  return { kind: 'file', path: target };
}

/** The anchor of a heading, as Git hosts generate it, so that links work in the repository and on the site. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}
