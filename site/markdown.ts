import { posix, relative } from 'node:path';
import type { MarkdownOptions, MarkdownRenderer } from 'vitepress';
import { type Page, root, targetOf } from './pages.ts';

type State = Parameters<Parameters<MarkdownRenderer['core']['ruler']['push']>[1]>[0];
type Token = State['tokens'][number];

/** Data of VitePress about the page that it renders. */
interface Environment {
  readonly path: string;
  readonly realPath?: string;
}

/** Adapts VitePress to the Markdown of the repository: its links, the marks of its code blocks, and literal braces. */
export function configureMarkdown(md: MarkdownRenderer, pages: readonly Page[]): void {
  md.core.ruler.push('repository-links', (state) => {
    const { path, realPath } = state.env as Environment;
    const file = relative(root, realPath ?? path).replaceAll('\\', '/');
    for (const { children } of state.tokens) if (children) rewriteLinks(children, pages, file, state);
  });
  md.core.ruler.push('tabs', (state) => {
    state.tokens = withTabs(state.tokens, state);
  });
  const { text, fence } = md.renderer.rules;
  // Vue would evaluate expressions in double braces
  md.renderer.rules.text = (...args) => (text?.(...args) ?? '').replaceAll('{{', '&#123;&#123;');
  md.renderer.rules.fence = (...args) => {
    const [tokens, index] = args;
    const { info } = tokens[index] as Token;
    const name = isInTabs(tokens, index) ? undefined : marksOf(info).file;
    const block = fence?.(...args) ?? '';
    return name === undefined ? block : `<div class="named-block"><p>${md.utils.escapeHtml(name)}</p>${block}</div>`;
  };
}

type Transformer = NonNullable<MarkdownOptions['codeTransformers']>[number];
type Line = Parameters<NonNullable<Transformer['line']>>[0];

const textOf = (node: Line | Line['children'][number]): string =>
  node.type === 'text' ? node.value : 'children' in node ? node.children.map(textOf).join('') : '';

/** The copy button of a console block copies its commands, without prompts and output. */
export const commandsOnly: Transformer = {
  name: 'commands-only',
  line(line) {
    if (this.options.lang !== 'console' || !/^\$ /m.test(this.source)) return;
    if (!textOf(line).startsWith('$ ')) {
      this.addClassToHast(line, 'vp-copy-ignore');
      return;
    }
    const [first] = line.children;
    if (first?.type !== 'element') return;
    const prompt = structuredClone(first);
    prompt.children = [{ type: 'text', value: '$ ' }];
    this.addClassToHast(prompt, 'vp-copy-ignore');
    dropCharacters(line, 2);
    line.children.unshift(prompt);
  },
};

/** Removes the first characters of the texts in a line. */
function dropCharacters(line: Line, count: number): void {
  let left = count;
  for (const child of line.children) {
    const text = child.type === 'element' ? child.children[0] : child;
    if (text?.type !== 'text') continue;
    const dropped = Math.min(left, text.value.length);
    text.value = text.value.slice(dropped);
    left -= dropped;
  }
}

/** Links to pages become links of the site. Links to other files of the repository become the names of these files. */
function rewriteLinks(tokens: Token[], pages: readonly Page[], file: string, state: State): void {
  for (let open = 0; open < tokens.length; open++) {
    const link = tokens[open] as Token;
    const href = link.type === 'link_open' ? link.attrGet('href') : null;
    if (href === null) continue;
    const target = targetOf(pages, file, href);
    if (target.kind === 'page') link.attrSet('href', `/${target.page.path}${target.anchor}`);
    if (target.kind !== 'file') continue;
    const close = tokens.findIndex((token, index) => index > open && token.type === 'link_close');
    const label = tokens.slice(open + 1, close);
    tokens.splice(open, close - open + 1, ...asFileName(label, target.path, state));
  }
}

/** A label that names the file becomes code with the path as its title. Other labels are followed by the path. */
function asFileName(label: Token[], path: string, state: State): Token[] {
  const text = label.map(({ content }) => content).join('');
  const code = (content: string) =>
    Object.assign(new state.Token('code_inline', 'code', 0), { content, markup: '`', attrs: [['title', path]] });
  const name = posix.basename(path);
  if (text.includes(name) || name.startsWith(text)) return [code(text)];
  const plain = (content: string) => Object.assign(new state.Token('text', '', 0), { content });
  return [...label, plain(' ('), code(path), plain(')')];
}

/** Puts a block with the mark `tab` into one group with the block before it. */
function withTabs(tokens: readonly Token[], state: State): Token[] {
  const result: Token[] = [];
  for (const token of tokens) {
    const last = result.at(-1);
    if (token.type === 'fence' && 'tab' in marksOf(token.info) && last) {
      if (last.type === 'fence') {
        const open = Object.assign(new state.Token('container_code-group_open', 'div', 1), { info: 'code-group', block: true });
        result.splice(-1, 1, open, titled(last), titled(token));
      } else if (last.type === 'container_code-group_close') {
        result.splice(-1, 1, titled(token));
      } else throw new Error(`a block with the mark "tab" must follow another block directly: ${token.content.slice(0, 60)}`);
      result.push(Object.assign(new state.Token('container_code-group_close', 'div', -1), { block: true }));
    } else result.push(token);
  }
  return result;
}

const languages: Readonly<Record<string, string>> = { yaml: 'YAML', ts: 'TypeScript', sh: 'Shell', json: 'JSON' };

function titled(token: Token): Token {
  const [language = ''] = token.info.trim().split(/\s+/);
  const title = marksOf(token.info).file ?? languages[language] ?? language;
  token.info = `${language} [${title}]`;
  return token;
}

function isInTabs(tokens: readonly Token[], index: number): boolean {
  return / \[.*\]( active)?$/.test((tokens[index] as Token).info);
}

/** The `name=value` marks after the language of a code block. */
function marksOf(info: string): Record<string, string> {
  const [, ...marks] = info.trim().split(/\s+/);
  return Object.fromEntries(marks.map((mark) => [mark.split('=')[0] as string, mark.split('=')[1] ?? '']));
}
