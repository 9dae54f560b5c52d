import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

export const root = join(import.meta.dirname, '..', '..');

/** Every page that users read, by its path from the root of the repository. */
export const pages: readonly string[] = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'THREATS.md',
  'src/README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`)
    .sort(),
];

export function readPage(page: string): string {
  return readFileSync(join(root, page), 'utf8');
}

/** A fenced block: its language, and the `name=value` marks behind it. */
export interface Block {
  readonly language: string;
  readonly marks: Readonly<Record<string, string>>;
  readonly text: string;
  readonly line: number;
}

export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; marks: Record<string, string>; lines: string[]; line: number } | null = null;
  for (const [index, line] of readPage(page).split('\n').entries()) {
    const fence = /^```(.*)$/.exec(line);
    if (!fence) open?.lines.push(line);
    else if (open) {
      blocks.push({ ...open, text: `${open.lines.join('\n')}\n` });
      open = null;
    } else {
      const [language = '', ...marks] = (fence[1] as string).trim().split(/\s+/);
      const pairs = marks.map((mark) => mark.split('=') as [string, string | undefined]);
      open = {
        language,
        marks: Object.fromEntries(pairs.map(([name, value = '']) => [name, value])),
        lines: [],
        line: index + 1,
      };
    }
  }
  if (open) throw new Error(`${page}:${open.line}: a block is not closed`);
  return blocks;
}

/** The text of a page outside of its blocks. */
function prose(page: string): string {
  return readPage(page).replace(/^```[\s\S]*?^```$/gm, '');
}

/** The headings of a page, without their marks. */
export function headingsOf(page: string): string[] {
  return [...prose(page).matchAll(/^#{1,6} (.+)$/gm)].map((match) => (match[1] as string).trim());
}

/** The anchor of a heading, as hosts of Markdown make it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

/** The targets of the links of a page. */
export function linksOf(page: string): string[] {
  return [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] as string);
}

/** Whether a link within the repository leads to a file, and to a heading of it if it names one. */
export function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : posix.join(dirname(page), path);
  if (!existsSync(join(root, target))) return false;
  if (anchor === undefined) return true;
  return !statSync(join(root, target)).isDirectory() && headingsOf(target).map(anchorOf).includes(anchor);
}

/** The rows of the first table below a heading, each a list of cells without their backquotes at both ends. */
export function tableBelow(page: string, heading: string): string[][] {
  const [, after] = prose(page).split(new RegExp(`^#{1,6} ${heading.replace(/[^\w\s]/g, '\\$&')}$`, 'm'));
  if (after === undefined) throw new Error(`${page} has no heading "${heading}"`);
  const section = after.split(/^#{1,6} /m)[0] as string;
  const table = /^\|.*\|\n\|[ :|-]+\|\n((?:\|.*\|\n?)+)/m.exec(section);
  if (!table) throw new Error(`${page} has no table below "${heading}"`);
  return (table[1] as string)
    .trim()
    .split('\n')
    .map((row) => cellsOf(row));
}

function cellsOf(row: string): string[] {
  return row
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))
    .map((cell) => (/^`[^`]*`$/.test(cell) ? cell.slice(1, -1) : cell));
}
