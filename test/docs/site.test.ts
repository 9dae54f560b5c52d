import { createMarkdownRenderer } from 'vitepress';
import { beforeAll, describe, expect, test } from 'vitest';
import { siteMarkdown } from '../../site/llms.ts';
import { configureMarkdown } from '../../site/markdown.ts';
import { anchorOf, type Page, readPages, root, summaryOf, targetOf } from '../../site/pages.ts';
import { anchorOf as anchorInRepository, headingsOf, pages as repositoryPages } from './markdown.ts';

const pages = readPages();

describe('the pages of the docs site', () => {
  test('are all pages for users, with the start page first', () => {
    const files = pages.map(({ file }) => file);
    expect(files[0]).toBe('docs/README.md');
    const expected = [...repositoryPages.filter((file) => file !== 'src/README.md'), 'bench/README.md'];
    expect(files.toSorted()).toEqual(expected.toSorted());
  });

  test('have different paths and titles', () => {
    expect(new Set(pages.map(({ path }) => path)).size).toBe(pages.length);
    expect(new Set(pages.map(({ section, title }) => `${section} ${title}`)).size).toBe(pages.length);
  });

  test('have the same anchors as in the repository', () => {
    const headings = pages.flatMap(({ file }) => headingsOf(file));
    expect(headings.filter((heading) => anchorOf(heading) !== anchorInRepository(heading))).toEqual([]);
  });

  test('are summarized by one sentence of plain text', () => {
    const page = (text: string): Page => ({ file: 'docs/a.md', path: 'a.md', section: null, title: 'A', text });
    expect(summaryOf(page('# A\n\n```sh\nls\n```\n\nSee [B](b.md) and\nC. More.'))).toBe('See B and C.');
    expect(summaryOf(page('# A\n\n| a |\n| --- |\n'))).toBe('');
  });
});

describe('links of the docs site', () => {
  test.each([
    ['docs/reference/cli.md', 'errors.md#start-errors', { path: 'reference/errors.md', anchor: '#start-errors' }],
    ['docs/reference/cli.md', '../../THREATS.md', { path: 'about/threat-model.md', anchor: '' }],
    ['README.md', 'docs/decisions', { path: 'decisions/index.md', anchor: '' }],
  ])('from %s to %s lead to a page', (file, link, { path, anchor }) => {
    expect(targetOf(pages, file, link)).toMatchObject({ kind: 'page', page: { path }, anchor });
  });

  test('to files of the repository alone name the file', () => {
    expect(targetOf(pages, 'docs/about/security.md', '../../examples/courses')).toEqual({
      kind: 'file',
      path: 'examples/courses',
    });
  });

  test('are left alone with a scheme or within a page', () => {
    for (const link of ['https://127.0.0.1/', '#files']) expect(targetOf(pages, 'README.md', link)).toEqual({ kind: 'other' });
  });

  test('are rewritten in Markdown for language models, outside of code', () => {
    const text = '[a](../README.md#try-it), [b](../src/plugin.ts)\n\n```md\n[c](../README.md)\n```\n';
    const page: Page = { file: 'docs/a.md', path: 'a.md', section: null, title: 'A', text };
    expect(siteMarkdown(pages, page, '/base/')).toBe(
      '[a](/base/tutorial/tour.md#try-it), b (src/plugin.ts)\n\n```md\n[c](../README.md)\n```\n',
    );
  });
});

describe('Markdown on the docs site', () => {
  let render: (text: string) => string;
  beforeAll(async () => {
    const md = await createMarkdownRenderer(root, {
      html: false,
      attrs: { disable: true },
      highlight: (code) => `<pre>${code}</pre>`,
      config: (renderer) => configureMarkdown(renderer, pages),
    });
    render = (text) =>
      md.render(text, { path: `${root}/docs/reference/cli.md`, relativePath: 'reference/cli.md', cleanUrls: false });
  });

  test('links to pages by their address, and shows other files as code', () => {
    expect(render('[a](../../THREATS.md)')).toContain('<a href="/about/threat-model.html">a</a>');
    expect(render('[plugin](../../src/plugin.ts)')).toMatch(/<code title="src\/plugin.ts"[^>]*>plugin<\/code>/);
    expect(render('[the plugin](../../src/plugin.ts)')).toMatch(/the plugin \(<code [^>]*>src\/plugin.ts<\/code>\)/);
  });

  test('shows marked blocks as tabs', () => {
    const html = render('```yaml\na: 1\n```\n\n```ts tab\nconst a = 1;\n```\n');
    expect([...html.matchAll(/data-title="([^"]+)"/g)].map(([, title]) => title)).toEqual(['YAML', 'TypeScript']);
    expect(html.match(/vp-code-group/g)).toHaveLength(1);
    expect(() => render('text\n\n```ts tab\nconst a = 1;\n```\n')).toThrow('must follow another block directly');
  });

  test('names the file of a block, and shows no other marks', () => {
    const html = render('```ts file=src/a.ts app=notes\nconst a = 1;\n```\n');
    expect(html).toContain('<p>src/a.ts</p>');
    expect(html).toContain('class="language-ts ');
    expect(html).not.toContain('app=notes');
  });

  test('evaluates nothing that stands in braces', () => {
    expect(render('{{ 1 + 1 }} <b>bold</b>')).toContain('&#123;&#123; 1 + 1 }} &lt;b&gt;');
  });
});
