/** Reads CSV by RFC 4180. Throws for anything else: bare line ends, quotes inside of bare cells, rows of different lengths. */
export function parseCsv(text: string): { readonly header: string[]; readonly rows: (string | null)[][] } {
  const records: (string | null)[][] = [];
  let at = 0;
  while (at < text.length) {
    const record: (string | null)[] = [];
    for (;;) {
      const { cell, end } = text[at] === '"' ? quoted(text, at) : bare(text, at);
      record.push(cell);
      at = end;
      if (text[at] !== ',') break;
      at++;
    }
    if (!text.startsWith('\r\n', at)) throw new Error(`no CR LF at ${at}: ${JSON.stringify(text.slice(at, at + 20))}`);
    at += 2;
    records.push(record);
  }
  const [header, ...rows] = records;
  if (!header || rows.some(({ length }) => length !== header.length))
    throw new Error(`rows of different lengths: ${JSON.stringify(text.slice(0, 1000))}`);
  return { header: header.map((cell) => cell ?? ''), rows };
}

/** An empty bare cell is null, an empty quoted cell is a text. */
function bare(text: string, start: number): { cell: string | null; end: number } {
  const end = start + (text.slice(start).search(/[,\r\n]/) + 1 || text.length - start + 1) - 1;
  const cell = text.slice(start, end);
  if (cell.includes('"')) throw new Error(`a quote inside of a bare cell at ${start}`);
  return { cell: cell === '' ? null : cell, end };
}

function quoted(text: string, start: number): { cell: string; end: number } {
  let cell = '';
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) throw new Error(`a cell without end at ${start}`);
    cell += text.slice(at, quote);
    if (text[quote + 1] !== '"') return { cell, end: quote + 1 };
    cell += '"';
    at = quote + 2;
  }
}

/** Removes the mark that keeps a spreadsheet from running a cell, as docs/reference/formats.md describes. */
export function withoutMark(cell: string | null): string | null {
  return cell === null ? null : cell.replace(/^'(?=['\s\p{Z}\p{Cc}\p{Cf}\p{DI}]*[=+\-@＝＋－＠]|'*[\p{Cc}\p{Cf}\p{DI}])/u, '');
}
