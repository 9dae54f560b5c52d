// Builds the explorer into a folder: node scripts/build-explorer.ts FOLDER
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const root = join(import.meta.dirname, '..');
const sources = join(root, 'explorer');
/** In the order of the cascade. */
const styles = ['base', 'frame', 'lists', 'code', 'forms', 'dialogs', 'narrow'];

/** Writes `explorer.js`, `explorer.css`, `index.html` and the licenses of bundled code into a folder. */
export async function buildExplorer(outDir: string): Promise<void> {
  mkdirSync(outDir, { recursive: true });
  const bundled = await rolldown({
    input: join(sources, 'main.tsx'),
    platform: 'browser',
    tsconfig: join(sources, 'tsconfig.json'),
    transform: { target: 'es2022' },
    experimental: { attachDebugInfo: 'none' },
    checks: { bundlerTimings: false },
    onwarn({ message }) {
      throw new Error(`cannot bundle the explorer: ${message}`);
    },
  });
  await bundled.write({ file: join(outDir, 'explorer.js'), format: 'esm', minify: true, comments: false, codeSplitting: false });
  await bundled.close();
  const css = styles.map((name) => readFileSync(join(sources, 'styles', `${name}.css`), 'utf8')).join('\n');
  writeFileSync(join(outDir, 'explorer.css'), smallerCss(css));
  copyFileSync(join(sources, 'index.html'), join(outDir, 'index.html'));
  copyFileSync(join(root, 'node_modules', 'preact', 'LICENSE'), join(outDir, 'LICENSE-preact.txt'));
}

/** Without comments and indentation. The style sheet has no texts with several spaces. */
function smallerCss(css: string): string {
  return css
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,]) ?/g, '$1')
    .trim();
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('name the folder: node scripts/build-explorer.ts FOLDER');
  await buildExplorer(resolve(folder));
}
