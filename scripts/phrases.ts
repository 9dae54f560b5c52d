// Rejects phrases that are hard to read, in all texts for users: string literals of src, README.md and docs.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ts } from '@ts-morph/common';

/** Each phrase with its replacement. A space matches any white space, line breaks included. */
export const phrases: readonly { readonly phrase: RegExp; readonly instead: string }[] = [
  { phrase: /\bis no (?!longer\b)/gi, instead: '"is not a …", "unknown …" or "… does not exist"' },
  { phrase: /\bthere is none\b/gi, instead: '"is missing" or "does not exist"' },
  { phrase: /\bwho may not\b/gi, instead: '"callers without access"' },
  { phrase: /\b(?:is|was|are|were) told\b/gi, instead: '"gets", "returns" or "is logged"' },
  { phrase: /\bturned away\b/gi, instead: '"rejected"' },
  { phrase: /\bis nothing that\b/gi, instead: '"is not a …"' },
  { phrase: /\bwhoever\b/gi, instead: 'the one who acts: "the caller", "the client", "the user"' },
  { phrase: /[;:] such as\b/gi, instead: '"use one of: …" before a list of what is allowed' },
];

/** One place with a phrase. */
export interface Finding {
  readonly line: number;
  readonly text: string;
  readonly instead: string;
}

/** The phrases in a text. */
export function phrasesIn(text: string, firstLine = 1): Finding[] {
  const found = phrases.flatMap(({ phrase, instead }) =>
    [...text.matchAll(new RegExp(phrase.source.replaceAll(' ', '\\s+'), phrase.flags))].map((match) => ({
      line: firstLine + text.slice(0, match.index).split('\n').length - 1,
      text: match[0].replace(/\s+/g, ' ').trim(),
      instead,
    })),
  );
  return found.sort((a, b) => a.line - b.line);
}

/** The phrases in the string literals and templates of a TypeScript file; `${…}` separates the parts of a template. */
export function phrasesInLiterals(source: string): Finding[] {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest);
  const found: Finding[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || isTemplatePart(node)) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
      found.push(...phrasesIn(node.text, line + 1));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function isTemplatePart(node: ts.Node): node is ts.TemplateHead | ts.TemplateMiddle | ts.TemplateTail {
  return ts.isTemplateHead(node) || ts.isTemplateMiddle(node) || ts.isTemplateTail(node);
}

function filesBelow(root: string, folder: string, extension: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(extension))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .sort();
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..');
  const texts = ['README.md', ...filesBelow(root, 'docs', '.md')];
  const all = [
    ...filesBelow(root, 'src', '.ts').map((file) => ({ file, read: phrasesInLiterals })),
    ...texts.map((file) => ({ file, read: (text: string) => phrasesIn(text) })),
  ].map(({ file, read }) => ({ file, found: read(readFileSync(join(root, file), 'utf8')) }));
  const faults = all.flatMap(({ file, found }) => found.map((one) => ({ file, ...one })));
  for (const { file, instead, line, text } of faults) console.error(`${file}:${line}: "${text}": write ${instead}`);
  console.log(`phrases: ${all.length} files, ${faults.length} faults`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
