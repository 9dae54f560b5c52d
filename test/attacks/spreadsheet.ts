// Opens an export in LibreOffice, which is too large for every run: `npm test` leaves this out. To run it, install
// libreoffice-calc-nogui (Debian) and call `node test/attacks/spreadsheet.ts`.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { csvHeader, csvRowWriter } from '../../src/serialization/csv.ts';
import { parseCsv, withoutMark } from '../support/csv.ts';
import { makeTemporary } from '../support/temporary.ts';

const formulas = [
  '=1+1',
  '+1+1',
  '-1+1',
  '@SUM(1)',
  '＝1+1',
  '＋1+1',
  '－1+1',
  '＠SUM(1)',
  '=cmd|" /C calc"!A0',
  '=HYPERLINK("http://127.0.0.1:1/")',
];
/** Every character that a spreadsheet may strip or not show, and the mark. */
const hidden = /['\s\p{Z}\p{Cc}\p{Cf}\p{DI}]/u;

/** Texts that are formulas, or hide one. */
function hostileTexts(): string[] {
  const prefixes = ['', '  ', "''", '\ufeff\u200b', '\v\f', '\t ', '\r\n'];
  for (let code = 0; code <= 0xfffff; code++) {
    const character = code >= 0xd800 && code <= 0xdfff ? '' : String.fromCodePoint(code);
    // thousands of code points without a character are all alike
    if (hidden.test(character) && (code < 0xe0000 || code % 256 === 1)) prefixes.push(character);
  }
  return prefixes.flatMap((prefix) => formulas.map((formula) => prefix + formula));
}

/** 44 is the comma, 34 the quote, 76 UTF-8; quoted cells are not taken for texts by that, numbers are found, and formulas run. */
const reading = 'CSV:44,34,76,1,,0,false,true,false,false,false,0,true';
const writing = 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false';

function convert(directory: string, file: string, to: string, read?: string): string {
  const filter = read === undefined ? [] : [`--infilter=${read}`];
  const profile = `-env:UserInstallation=${pathToFileURL(join(directory, 'profile'))}`;
  const command = [profile, '--headless', ...filter, '--convert-to', to, '--outdir', directory, join(directory, file)];
  execFileSync('soffice', command, { stdio: 'pipe', timeout: 300_000 });
  const [ending] = to.split(':', 1);
  return file.replace(/\w+$/, ending as string);
}

interface Cells {
  readonly formulas: string[];
  readonly texts: number;
}

/** The formulas of a spreadsheet in flat XML, and how many cells have a text. */
function cellsOf(path: string): Cells {
  const xml = readFileSync(path, 'utf8');
  return {
    formulas: [...xml.matchAll(/ table:formula="([^"]*)"/g)].map((match) => match[1] as string),
    texts: [...xml.matchAll(/<table:table-cell[^>]* office:value-type="string"/g)].length,
  };
}

/** A CSV file as it is opened, and again after it was saved, by which LibreOffice strips characters. */
function openedTwice(directory: string, file: string): Cells[] {
  const opened = convert(directory, file, 'fods', reading);
  const first = cellsOf(join(directory, opened));
  const saved = convert(directory, opened, writing);
  return [first, cellsOf(join(directory, convert(directory, saved, 'fods', reading)))];
}

/**
 * Checks that no cell of an export is a formula in LibreOffice, neither when the export is opened nor when it was saved as CSV there and is
 * opened again. Throws if one is, or if LibreOffice would run none anyhow. Returns what it saw.
 */
export function checkSpreadsheet(): { readonly cells: number; readonly unmarked: readonly number[] } {
  const { directory, remove } = makeTemporary('spreadsheet');
  try {
    const texts = hostileTexts();
    const columns = [['id'], ['text']];
    const row = csvRowWriter(columns);
    const csv = csvHeader(columns) + texts.map((text, id) => row({ id, text })).join('');
    const kept = parseCsv(csv).rows.map(([, cell]) => withoutMark(cell ?? null));
    if (JSON.stringify(kept) !== JSON.stringify(texts)) throw new Error('the export does not hold the texts');
    writeFileSync(join(directory, 'export.csv'), csv);
    // the same without marks, to see that it would notice
    const bare = texts.map((text, id) => `${id},"${text.replaceAll('"', '""')}"\r\n`).join('');
    writeFileSync(join(directory, 'bare.csv'), `id,text\r\n${bare}`);

    const unmarked = openedTwice(directory, 'bare.csv').map(({ formulas: { length } }) => length);
    if (unmarked.includes(0)) throw new Error('LibreOffice runs no formula of a CSV file: the check would notice nothing');
    for (const { formulas: found, texts: read } of openedTwice(directory, 'export.csv')) {
      if (found.length > 0)
        throw new Error(`${found.length} cells are formulas in LibreOffice, such as ${found.slice(0, 5).join(' ')}`);
      if (read < texts.length) throw new Error(`LibreOffice read ${read} texts of ${texts.length}`);
    }
    return { cells: texts.length, unmarked };
  } finally {
    remove();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { cells, unmarked } = checkSpreadsheet();
  console.log(`no formula among ${cells} cells; without marks there would be ${unmarked.join(', and after saving ')}`);
}
