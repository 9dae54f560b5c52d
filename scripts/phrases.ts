// Rejects phrases that are hard to read: in docs, in string literals and comments of the code, and in the titles of tests.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ts } from '@ts-morph/common';

interface Phrase {
  readonly phrase: RegExp;
  readonly instead: string;
  /** Allowed in comments, which describe values such as "null if there is none". */
  readonly isAllowedInComments?: boolean;
}

/** Each phrase with its replacement. A space matches any white space, line breaks included. */
export const phrases: readonly Phrase[] = [
  // "no build step" needs no other words: only the verb is the problem
  {
    phrase: /(?<!\bthere )\bis no (?!longer\b|(?:higher|greater|more|less) )/gi,
    instead: '"is not a …", "unknown …" or "… does not exist"',
  },
  { phrase: /\bthere is none\b/gi, instead: '"is missing" or "does not exist"', isAllowedInComments: true },
  { phrase: /\b(?:who|what) may not\b/gi, instead: '"callers without access"' },
  { phrase: /\bthose who\b/gi, instead: 'the one who acts: "callers", "users"' },
  { phrase: /\bwhoever\b/gi, instead: 'the one who acts: "the caller", "the client", "the user"' },
  {
    phrase: /\b(?:what|who) is \w+ (?:is|are|gets?|has|returns?)\b/gi,
    instead: 'a noun: "hidden rows return 404", not "what is hidden is 404"',
  },
  {
    phrase: /(?<!\b(?:it|response|status) )\b(?:is|are) (?:(?:answered|met) (?:by|with) )?[2-5]\d\d\b/gi,
    instead: 'a verb: "returns 404"',
  },
  { phrase: /\bwhere (?:it|there|they|one) (?:is|are|has|have|can|may|needs?) (?!it\b)/gi, instead: '"if" or "when"' },
  { phrase: /\b(?:is|was|are|were) told\b/gi, instead: '"gets", "returns" or "is logged"' },
  { phrase: /\b(?:is|are|was|were) (?:waited for|seen to|sent away)\b/gi, instead: 'the one who acts: "Declarest waits for …"' },
  { phrase: /\bturned away\b/gi, instead: '"rejected"' },
  { phrase: /\b(?:given|gives?|giving) up\b/gi, instead: '"timed out", "canceled" or "stops"' },
  { phrase: /\b(?:done|tried|made|sent|begun) again\b|\banew\b/gi, instead: '"retried", "repeated" or "new"' },
  { phrase: /\bis nothing that\b/gi, instead: '"is not a …"' },
  { phrase: /\bnothing (?:\w+ ){0,3}of[.;:]/gi, instead: 'a sentence that does not end with a preposition' },
  { phrase: /[;:] such as\b/gi, instead: '"use one of: …" before a list of what is allowed' },
];

/** One place with a phrase. */
export interface Finding {
  readonly line: number;
  readonly text: string;
  readonly instead: string;
}

/** The phrases in a text. */
export function phrasesIn(text: string, firstLine = 1, rejected = phrases): Finding[] {
  const found = rejected.flatMap(({ phrase, instead }) =>
    [...text.matchAll(new RegExp(phrase.source.replaceAll(' ', '\\s+'), phrase.flags))].map((match) => ({
      line: firstLine + text.slice(0, match.index).split('\n').length - 1,
      text: match[0].replace(/\s+/g, ' ').trim(),
      instead,
    })),
  );
  return found.sort((a, b) => a.line - b.line);
}

const phrasesOfComments = phrases.filter(({ isAllowedInComments }) => !isAllowedInComments);

/** The phrases in the comments, string literals, templates and JSX of a file; `${…}` separates the parts of a template. */
export function phrasesInCode(source: string, name = 'source.ts'): Finding[] {
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.Latest);
  const lineAt = (position: number) => file.getLineAndCharacterOfPosition(position).line + 1;
  const found: Finding[] = [];
  const commented = new Set<number>();
  const visit = (node: ts.Node): void => {
    const leading = ts.getLeadingCommentRanges(source, node.getFullStart()) ?? [];
    for (const { pos, end } of [...leading, ...(ts.getTrailingCommentRanges(source, node.end) ?? [])]) {
      if (commented.has(pos)) continue;
      commented.add(pos);
      const text = source.slice(pos, end).replace(/^[ \t]*\*/gm, '');
      found.push(...phrasesIn(text, lineAt(pos), phrasesOfComments));
    }
    if (isText(node) || ts.isJsxText(node)) found.push(...phrasesIn(node.text, lineAt(node.getStart(file))));
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found.sort((a, b) => a.line - b.line);
}

/** The phrases in the titles of the tests of a file. */
export function phrasesInTitles(source: string): Finding[] {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest);
  const found: Finding[] = [];
  const visit = (node: ts.Node): void => {
    const [title] = ts.isCallExpression(node) ? node.arguments : [];
    if (title && isText(title) && /^(?:describe|test)\b/.test((node as ts.CallExpression).expression.getText(file))) {
      found.push(...phrasesIn(title.text, file.getLineAndCharacterOfPosition(title.getStart(file)).line + 1));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function isText(node: ts.Node): node is ts.StringLiteral | ts.NoSubstitutionTemplateLiteral | ts.TemplateHead {
  return ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || isTemplatePart(node);
}

function isTemplatePart(node: ts.Node): node is ts.TemplateHead | ts.TemplateMiddle | ts.TemplateTail {
  return ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
}

function filesBelow(root: string, folder: string, extension: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => extension.test(name) && !name.includes('node_modules'))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .sort();
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..');
  const named = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'THREATS.md', 'bench/README.md', 'src/README.md'];
  const below = (folders: readonly string[], extension: RegExp) =>
    folders.flatMap((folder) => filesBelow(root, folder, extension));
  const texts = [...named, ...below(['docs', 'assets', 'examples'], /\.(md|ya?ml)$/)];
  const code = below(['src', 'explorer', 'assets', 'examples'], /\.tsx?$/);
  const all = [
    ...texts.map((file) => ({ file, read: (text: string) => phrasesIn(text) })),
    ...code.map((file) => ({ file, read: (text: string) => phrasesInCode(text, file) })),
    ...below(['test'], /\.test\.ts$/).map((file) => ({ file, read: phrasesInTitles })),
  ].map(({ file, read }) => ({ file, found: read(readFileSync(join(root, file), 'utf8')) }));
  const faults = all.flatMap(({ file, found }) => found.map((one) => ({ file, ...one })));
  for (const { file, instead, line, text } of faults) console.error(`${file}:${line}: "${text}": write ${instead}`);
  console.log(`phrases: ${all.length} files, ${faults.length} faults`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
