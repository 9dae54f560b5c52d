// Takes the picture of the README: the docs page of the example beside explanations of requests that end with an error.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { launchBrowser } from '../test/support/browser.ts';

const root = join(import.meta.dirname, '..');
const picture = 'docs/images/docs-and-explain.png';
const example = 'examples/courses';
/** Requests that end with an error, and their users. */
const explained = [
  ['DELETE', '/api/person/1.json', '{"id": 1, "roles": ["ROLE_USER"], "centers": [1, 2]}'],
  ['GET', '/api/course/1.json', '{"id": 1, "roles": ["ROLE_USER"], "centers": [2]}'],
] as const;
/** The colours of a terminal, by their codes. */
const classes: Readonly<Record<string, string>> = {
  1: 'bold',
  2: 'dim',
  31: 'red',
  32: 'green',
  33: 'yellow',
  34: 'blue',
  35: 'violet',
  36: 'cyan',
};
const colour = new RegExp(`${String.fromCharCode(27)}\\[([\\d;]*)m`);
const { NODE_ENV: _, ...inherited } = process.env;
const env = { ...inherited, DATABASE_URL: 'sqlite::memory:' };

const server = spawn(process.execPath, ['bin/declarest.js', 'serve', example, '--port', '0'], { cwd: root, env });
try {
  await takePicture(await listening());
} finally {
  server.kill();
}
console.log(`${picture}: ${Math.round(statSync(join(root, picture)).size / 1000)} kB`);

function listening(): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    const read = (chunk: unknown) => {
      output += String(chunk);
      const url = /listening on (\S+)/.exec(output)?.[1];
      if (url) resolve(url);
    };
    server.stdout.on('data', read);
    server.stderr.on('data', read);
    server.once('exit', (code) => reject(new Error(`declarest serve ended with ${code}:\n${output}`)));
  });
}

async function takePicture(url: string): Promise<void> {
  const browser = await launchBrowser();
  try {
    const docs = await browser.newPage({ viewport: { width: 790, height: 850 }, colorScheme: 'light' });
    await docs.goto(`${url}/docs`);
    await docs.locator('.opblock').first().waitFor();
    const shown = await docs.screenshot();
    const page = await browser.newPage({ viewport: { width: 1600, height: 900 }, colorScheme: 'light' });
    await page.setContent(composed(`data:image/png;base64,${shown.toString('base64')}`, explained.map(explanation).join('')));
    await page.locator('img').evaluate('(image) => image.decode()');
    mkdirSync(dirname(join(root, picture)), { recursive: true });
    await page.screenshot({ path: join(root, picture) });
  } finally {
    await browser.close();
  }
}

/** The command as it is typed, and its output with colours, as HTML. */
function explanation([method, path, user]: (typeof explained)[number]): string {
  const args = ['explain', method, path, example, '--user', user];
  const { stdout } = spawnSync(process.execPath, ['bin/declarest.js', ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...env, FORCE_COLOR: '1', COLUMNS: '90' },
  });
  const command = `$ npx declarest explain ${method} ${path} ${example} \\\n    --user '${user}'`;
  return `<b>${escaped(command)}</b>\n\n${inHtml(stdout)}`;
}

/** Text with the colours of a terminal, one block a line, so that long lines can be cut off. */
function inHtml(text: string): string {
  return text
    .split('\n')
    .map((line) => {
      let active: string[] = [];
      const parts = line.split(colour).map((part, index) => {
        if (index % 2 === 0) return part && `<span class="${active.join(' ')}">${escaped(part)}</span>`;
        for (const code of part.split(';')) {
          const name = classes[code];
          active = name === undefined ? [] : [...active, name];
        }
        return '';
      });
      return `<div class="line">${parts.join('') || '&nbsp;'}</div>`;
    })
    .join('');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function composed(docs: string, terminal: string): string {
  return `<!doctype html>
<style>
  body { margin: 0; padding: 24px; box-sizing: border-box; height: 100vh; display: flex; gap: 24px; background: #e9ebf7; }
  section { border-radius: 10px; overflow: hidden; border: 1px solid #c9cce0; }
  .page { flex: 0 0 790px; background: #fff; }
  .page img { width: 100%; display: block; }
  .terminal { flex: 1; min-width: 0; padding: 22px; background: #16182a; color: #e6e8f5; }
  pre { margin: 0; font: 13.5px/1.5 'DejaVu Sans Mono', Menlo, Consolas, monospace; }
  .line { overflow: hidden; text-overflow: ellipsis; }
  .bold { font-weight: bold; } .dim { color: #9a9fc0; } .red { color: #ff8f8f; } .green { color: #8fe39b; }
  .yellow { color: #f1d37a; } .blue { color: #9db2ff; } .violet { color: #d9a5ff; } .cyan { color: #86dff0; }
</style>
<section class="page"><img src="${docs}" alt=""></section>
<section class="terminal"><pre>${terminal}</pre></section>`;
}
