// Checks the structure of src: each folder may import only from its own layer and those below, there are no import cycles, folders and files
// have a maximum size, and only src/dialect compares names of databases.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

/** Folders and files of src from top to bottom: each may import from its own layer and from those further down. */
export const layers: readonly (string | readonly string[])[] = [
  'cli',
  'index.ts',
  'testing.ts',
  'inspect',
  'pull',
  'server.ts',
  'plugin.ts',
  'application.ts',
  'openapi',
  'telemetry',
  'traffic',
  'actions',
  'route',
  'store',
  'change',
  'query',
  'serialization',
  'response',
  'access',
  'model',
  // a dialect implements interfaces of `database`, and `database` calls the dialect of its mapper
  ['database', 'dialect'],
  'declaration',
  'errors.ts',
  'event-loop.ts',
  'package-root.ts',
];

/** The relative imports of every file, by path from src: `route/mount.ts` → [`route/names.ts`, `errors.ts`]. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

const patterns = [
  // import … from 'x' and export … from 'x', types included, over several lines
  /^[ \t]*(?:import|export)\b[^;'"`]*?\bfrom\s*(['"])(?<path>[^'"\n]+)\1/gm,
  // import 'x'
  /^[ \t]*import\s*(['"])(?<path>[^'"\n]+)\1/gm,
  // import('x'), in an expression or in a type
  /\bimport\s*\(\s*(['"`])(?<path>[^'"`\n]+)\1/g,
];

/** The modules in the imports and exports of a source text, by kind of import, without duplicates. */
export function importsIn(source: string): string[] {
  const found = patterns.flatMap((pattern) =>
    [...source.matchAll(pattern)].filter((match) => !isInComment(source, match.index)).map((match) => match.groups?.path ?? ''),
  );
  return [...new Set(found)];
}

/** Recognizes comments by the beginning of their line, which the formatter guarantees. */
function isInComment(source: string, index: number): boolean {
  const line = source.slice(source.lastIndexOf('\n', index - 1) + 1, index).trimStart();
  return line.startsWith('*') || line.startsWith('/*') || line.includes('//');
}

/** Reads the imports of every TypeScript file below a folder. */
export function readGraph(src: string): ImportGraph {
  return new Map(
    [...readSources(src)].map(([file, text]) => [
      file,
      importsIn(text)
        .filter((path) => path.startsWith('.'))
        .map((path) => posix.normalize(posix.join(dirname(file), path))),
    ]),
  );
}

/** One sentence for each violation: an upward import, an import of a file that src does not have, a file without a layer. */
export function breaches(graph: ImportGraph): string[] {
  return [...graph].flatMap(([file, targets]) => {
    const from = layerOf(file);
    if (from === -1) return [`src/${file} belongs to no layer: move it, or add its folder to the layers in scripts/walls.ts`];
    return targets.flatMap((target) => {
      if (!graph.has(target)) return [`src/${file} imports ${posix.join('src', target)}, which is not a TypeScript file of src`];
      const to = layerOf(target);
      if (to === -1 || to >= from) return [];
      return [`src/${file} imports src/${target}: ${layers[from]} is below ${layers[to]}, so pass in what it needs instead`];
    });
  });
}

function layerOf(file: string): number {
  return layers.findIndex((layer) => [layer].flat().some((name) => file === name || file.startsWith(`${name}/`)));
}

/** Import cycles: `a.ts → b.ts → a.ts`. */
export function circles(graph: ImportGraph): string[] {
  const visited = new Set<string>();
  const path: string[] = [];
  const found: string[] = [];
  const visit = (file: string) => {
    const start = path.indexOf(file);
    if (start !== -1) found.push([...path.slice(start), file].map((name) => `src/${name}`).join(' → '));
    if (start !== -1 || visited.has(file)) return;
    path.push(file);
    for (const target of graph.get(file) ?? []) visit(target);
    path.pop();
    visited.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return found;
}

/** The maximum number of files side by side in a folder, and of lines in a file. */
export const limits = { files: 25, lines: 400 } as const;

/** The text of every TypeScript file below a folder, by path. */
export function readSources(src: string): ReadonlyMap<string, string> {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => name.replaceAll('\\', '/'))
    .sort();
  return new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]));
}

/** One sentence for each folder with too many files, and for each file with too many lines. */
export function oversized(sources: ReadonlyMap<string, string>): string[] {
  const folders = Map.groupBy(sources.keys(), (file) => posix.join('src', dirname(file)));
  const crowded = [...folders].flatMap(([folder, files]) =>
    files.length > limits.files ? [`${folder} has ${files.length} files; move some of them to a subfolder`] : [],
  );
  const long = [...sources].flatMap(([file, text]) => {
    const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
    return lines > limits.lines ? [`src/${file} has ${lines} lines; split it`] : [];
  });
  return [...crowded, ...long];
}

const databaseName = `['"](?:sqlite|postgresql)['"]`;
const databaseQuestion = new RegExp(
  String.raw`[!=]==?\s*${databaseName}|${databaseName}\s*[!=]==?|\bcase\s+${databaseName}|\bdatabaseKindOf\b`,
  'g',
);

/** One sentence for each comparison with the name of a database outside of the dialects. */
export function databaseQuestions(sources: ReadonlyMap<string, string>): string[] {
  return [...sources].flatMap(([file, text]) =>
    file.startsWith('dialect/')
      ? []
      : [...text.matchAll(databaseQuestion)]
          .filter(({ index }) => !isInComment(text, index))
          .map(
            ({ index }) =>
              `src/${file}:${text.slice(0, index).split('\n').length} checks which database is in use; ask its dialect instead`,
          ),
  );
}

if (import.meta.main) {
  const src = join(import.meta.dirname, '..', 'src');
  const graph = readGraph(src);
  const sources = readSources(src);
  const faults = [
    ...breaches(graph),
    ...circles(graph).map((path) => `circle of imports: ${path}`),
    ...oversized(sources),
    ...databaseQuestions(sources),
  ];
  for (const fault of faults) console.error(fault);
  console.log(faults.length === 0 ? `walls: ${graph.size} files, 0 faults` : `walls: ${faults.length} faults`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
