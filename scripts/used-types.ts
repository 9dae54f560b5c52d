// Modules export types for each other as well. Finds those that a package exports, and what these refer to.
import { dirname, join } from 'node:path';

/** A statement at the top of a declaration file, with the comment above it. */
interface Statement {
  readonly text: string;
  readonly declares: string | undefined;
  /** Names from another file, by their names here: `import` and `export … from`. `*` means all. */
  readonly from: { readonly path: string; readonly names: ReadonlyMap<string, string>; readonly isExport: boolean } | undefined;
}

const comment = '\\/\\*\\*(?:(?!\\*\\/)[^])*\\*\\/\\n';
const start = new RegExp(
  `^(?=(?:${comment}|(?<!\\*\\/\\n))(?:import|export|declare|abstract|interface|type|class|function|const)\\b)`,
  'm',
);
const declaration =
  /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|const|let|function|namespace) (?!\{|\*)([\w$]+)/m;
const fromOther = /^(import|export) (?:type )?(?:\{([^}]*)\}|(\*)) from ['"](\.[^'"]*)\.ts['"];$/m;
const importType = /\bimport\(['"](\.[^'"]*)\.ts['"]\)\.([\w$]+)/g;

/**
 * Removes what is not used from declaration files, as TypeScript writes them.
 *
 * @param read The text of a file, by its path without an extension.
 * @param exported The paths of the files whose exports are kept.
 * @returns The texts of the files that are used, by their paths.
 */
export function usedTypes(read: (path: string) => string, exported: readonly string[]): Map<string, string> {
  const files = new Map<
    string,
    { readonly statements: readonly Statement[]; readonly used: Set<Statement>; names: Set<string> }
  >();
  const open = (path: string) => {
    const known = files.get(path);
    if (known) return known;
    const file = { statements: statementsIn(path, read(path)), used: new Set<Statement>(), names: new Set<string>() };
    files.set(path, file);
    // statements without a name have an effect: `declare module`, `export {}`
    for (const statement of file.statements) if (!statement.declares && !statement.from) use(path, statement);
    return file;
  };
  const use = (path: string, statement: Statement) => {
    const { used, statements } = open(path);
    if (used.has(statement)) return;
    used.add(statement);
    if (statement.from) {
      // what an import needs was found by name
      if (!statement.from.isExport) return;
      for (const name of statement.from.names.values()) if (name !== '*') find(statement.from.path, name);
      return;
    }
    for (const [, other = '', name = ''] of statement.text.matchAll(importType)) find(join(dirname(path), other), name);
    // words in comments and strings count as well, which keeps too much at worst
    for (const word of new Set(statement.text.match(/[\w$]+/g)))
      if (statements.some(({ declares, from }) => declares === word || from?.names.has(word))) find(path, word);
  };
  /** Uses the statements that declare a name, also in the files that it comes from. */
  const find = (path: string, name: string): boolean => {
    const file = open(path);
    if (file.names.has(name)) return true;
    const found = file.statements.filter(({ declares, from }) => declares === name || from?.names.has(name));
    if (found.length > 0) file.names.add(name);
    for (const statement of found) {
      if (statement.from) find(statement.from.path, statement.from.names.get(name) ?? name);
      use(path, statement);
    }
    const all = file.statements.filter(({ from }) => from?.names.has('*'));
    const inherited = found.length === 0 && all.find(({ from }) => from && find(from.path, name));
    if (inherited) file.used.add(inherited);
    return found.length > 0 || inherited !== undefined;
  };
  for (const path of exported) for (const statement of open(path).statements) use(path, statement);
  const written = [...files].filter(([path, { names }]) => names.size > 0 || exported.includes(path));
  return new Map(
    written.map(([path, { statements, used, names }]) => [
      path,
      textOf(
        statements.filter((one) => used.has(one)),
        names,
      ),
    ]),
  );
}

function textOf(statements: readonly Statement[], names: ReadonlySet<string>): string {
  return statements.map(({ text, from }) => (from && !from.isExport ? withNames(text, names) : text)).join('');
}

/** An import of fewer names. */
function withNames(text: string, names: ReadonlySet<string>): string {
  return text.replace(/\{([^}]*)\}/, (_, list: string) => {
    const kept = list.split(',').filter((item) => names.has(item.trim().split(/\s+/).at(-1) ?? ''));
    return `{ ${kept.map((item) => item.trim()).join(', ')} }`;
  });
}

function statementsIn(path: string, text: string): Statement[] {
  // a comment at the start of a line belongs to a statement, or to a part of a union
  const texts = text.split(start);
  return texts.map((statement) => {
    const [, keyword, list, all, other = ''] = fromOther.exec(statement) ?? [];
    const items = (list ?? all ?? '')
      .split(',')
      .map((item) => item.trim().replace(/^type /, ''))
      .filter(Boolean);
    const names = new Map(items.map((item) => [item.split(' as ').at(-1) ?? item, item.split(' as ')[0] ?? item]));
    const from = keyword ? { path: join(dirname(path), other), names, isExport: keyword === 'export' } : undefined;
    return { text: statement, from, declares: from ? undefined : declaration.exec(statement)?.[1] };
  });
}
