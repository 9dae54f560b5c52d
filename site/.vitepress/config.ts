import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type DefaultTheme, defineConfig } from 'vitepress';
import { llmsFull, llmsIndex, siteMarkdown } from '../llms.ts';
import { commandsOnly, configureMarkdown } from '../markdown.ts';
import { anchorOf, type Page, readPages, root, type Section, sections, summaryOf } from '../pages.ts';

const pages = readPages();
const files = new Set(pages.map(({ file }) => file));
const { description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { description: string };
const icon = `data:image/svg+xml,${encodeURIComponent(readFileSync(join(root, 'assets', 'docs', 'icon.svg'), 'utf8'))}`;

const urlOf = ({ path }: Page) => `/${path.replace(/(index)?\.md$/, '')}`;
const pagesOf = (section: Section) => pages.filter((page) => page.section === section);
const itemsOf = (section: Section) => pagesOf(section).map((page) => ({ text: page.title, link: urlOf(page) }));
const present = (Object.keys(sections) as Section[]).filter((section) => pagesOf(section).length > 0);

const groupOf = (section: Section): DefaultTheme.SidebarItem => ({ text: sections[section], items: itemsOf(section) });
/**
 * Without the many decisions: other pages link to their index only. Groups cannot be closed, because the theme nests buttons in
 * groups that can.
 */
const groups = present.filter((section) => section !== 'decisions').map(groupOf);
const decisions = pages
  .filter(({ path }) => path === 'decisions/index.md')
  .map((page) => ({ text: page.title, link: urlOf(page) }));
const sidebar: DefaultTheme.SidebarMulti = {
  '/decisions/': [groupOf('decisions'), ...groups],
  '/': groups.map((group) =>
    group.text === sections.about ? { ...group, items: [...(group.items ?? []), ...decisions] } : group,
  ),
};

/** The head of the start page. The text of docs/README.md follows below it. */
const startPage = {
  layout: 'home',
  hero: {
    name: 'Declarest',
    tagline: summaryOf(pages.find(({ file }) => file === 'README.md') as Page),
    actions: present
      .filter((section) => section === 'tutorial' || section === 'how-to' || section === 'reference')
      .map((section, index) => ({
        theme: index === 0 ? 'brand' : 'alt',
        text: sections[section],
        link: urlOf(pagesOf(section)[0] as Page),
      })),
  },
};

export default defineConfig({
  title: 'Declarest',
  description,
  lang: 'en',
  srcDir: '..',
  // VitePress looks for Markdown in the whole repository
  srcExclude: ['!(docs)/*/**', ...globSync('{,*/}*.md', { cwd: root }).filter((file) => !files.has(file.replaceAll('\\', '/')))],
  outDir: '../var/site',
  cacheDir: '../var/site-cache',
  rewrites: Object.fromEntries(pages.map(({ file, path }) => [file, path])),
  head: [['link', { rel: 'icon', href: icon }]],
  markdown: {
    // the pages are Markdown without HTML and without the additions of VitePress
    html: false,
    linkify: false,
    attrs: { disable: true },
    anchor: { slugify: anchorOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    codeTransformers: [commandsOnly],
    config: (md) => configureMarkdown(md, pages),
  },
  themeConfig: {
    logo: { src: icon, alt: '' },
    nav: present
      .filter((section) => section !== 'decisions')
      .map((section) => ({ text: sections[section], link: urlOf(pagesOf(section)[0] as Page), activeMatch: `^/${section}/` })),
    sidebar,
    outline: { level: [2, 3] },
    search: {
      provider: 'local',
      options: {
        // the search index needs no syntax highlighting
        _render(text, env, md) {
          const { highlight } = md.options;
          md.options.highlight = null;
          const html = md.render(text, env);
          md.options.highlight = highlight;
          return html;
        },
      },
    },
    externalLinkIcon: false,
    notFound: {
      title: 'Page not found',
      quote: 'Use the search above, or begin at the start page.',
      linkLabel: 'start page',
      linkText: 'Start page',
    },
  },
  vite: {
    plugins: [
      {
        // this bundle renders the pages at build time and is never sent, so its size does not matter
        name: 'quick-server-bundle',
        config: (_config, { isSsrBuild }) => (isSsrBuild ? { build: { rollupOptions: { treeshake: false } } } : {}),
      },
    ],
  },
  transformPageData({ relativePath, frontmatter }) {
    return relativePath === 'index.md' ? { frontmatter: { ...frontmatter, ...startPage } } : {};
  },
  buildEnd({ outDir, site: { base } }) {
    write(join(outDir, 'llms.txt'), llmsIndex(pages, base, description));
    write(join(outDir, 'llms-full.txt'), llmsFull(pages, base));
    for (const page of pages) write(join(outDir, page.path), siteMarkdown(pages, page, base));
  },
});

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
