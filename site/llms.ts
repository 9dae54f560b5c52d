import { linksIn, type Page, type Section, sections, summaryOf, targetOf } from './pages.ts';

/** The index for language models: every page with its first sentence, in the form of https://llmstxt.org. */
export function llmsIndex(pages: readonly Page[], base: string, description: string): string {
  const line = (page: Page) => `- [${page.title}](${base}${page.path}): ${summaryOf(page)}`;
  const part = (section: Section) => {
    const shown = pages.filter((page) => page.section === section);
    return shown.length === 0 ? [] : [`## ${sections[section]}\n\n${shown.map(line).join('\n')}`];
  };
  const parts = (Object.keys(sections) as Section[]).flatMap(part);
  return `${['# Declarest', `> ${description}`, `All pages in one file: ${base}llms-full.txt`, ...parts].join('\n\n')}\n`;
}

/** All pages, one after another, each below its address. */
export function llmsFull(pages: readonly Page[], base: string): string {
  return pages.map((page) => `<!-- ${base}${page.path} -->\n\n${siteMarkdown(pages, page, base).trim()}\n`).join('\n\n');
}

/** The Markdown of a page, with links that work on the site. */
export function siteMarkdown(pages: readonly Page[], page: Page, base: string): string {
  const targets = new Map(linksIn(page.text).map((link) => [link, targetOf(pages, page.file, link)]));
  return page.text.replace(/^```[\s\S]*?^```$|(!?)\[([^\]]*)\]\(([^)\s]+)\)/gm, (whole, image, label, link) => {
    const target = link === undefined ? undefined : targets.get(link);
    if (image) return label;
    if (target?.kind === 'page') return `[${label}](${base}${target.page.path}${target.anchor})`;
    return target?.kind === 'file' ? `${label} (${target.path})` : whole;
  });
}
