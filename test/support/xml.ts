/** An element, with its text if it has no children. */
export interface XmlElement {
  readonly name: string;
  readonly nil: boolean;
  readonly children: readonly XmlElement[];
  readonly text: string;
}

const nameStart =
  'A-Z_a-z\\u{c0}-\\u{d6}\\u{d8}-\\u{f6}\\u{f8}-\\u{2ff}\\u{370}-\\u{37d}\\u{37f}-\\u{1fff}\\u{200c}\\u{200d}\\u{2070}-\\u{218f}\\u{2c00}-\\u{2fef}\\u{3001}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{fffd}\\u{10000}-\\u{effff}';
const tag = new RegExp(
  `<(/?)([${nameStart}][${nameStart}\\-.0-9\\u{b7}\\u{300}-\\u{36f}\\u{203f}\\u{2040}]*)((?: [\\w:]+="[^"<&]*")*)(/?)>`,
  'uy',
);
const character = /^[\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]*$/u;
const references: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Reads the XML of responses strictly: no comments, no CDATA, no attributes but those of the root and xsi:nil. */
export function parseXml(document: string): XmlElement {
  const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n';
  if (!document.startsWith(declaration)) throw new Error('no declaration');
  if (!character.test(document)) throw new Error('a character that XML does not have');
  const text = document.slice(declaration.length).replaceAll('\r\n', '\n').replaceAll('\r', '\n');
  const { element, end } = elementAt(text, 0, true);
  if (text.slice(end).trim() !== '') throw new Error('something after the root');
  return element;
}

function elementAt(text: string, start: number, isRoot = false): { element: XmlElement; end: number } {
  const opened = tagAt(text, start);
  if (opened.closes) throw new Error(`an end without a beginning at ${start}`);
  const space = ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';
  const attributes = isRoot ? opened.attributes.replace(space, '') : opened.attributes;
  if (attributes !== '' && attributes !== ' xsi:nil="true"') throw new Error(`attributes${attributes}`);
  const nil = attributes !== '';
  if (opened.empty) return { element: { name: opened.name, nil, children: [], text: '' }, end: opened.end };
  const children: XmlElement[] = [];
  let content = '';
  let at = opened.end;
  for (;;) {
    const next = text.indexOf('<', at);
    if (next < 0) throw new Error(`<${opened.name}> without end`);
    content += unescaped(text.slice(at, next));
    if (text[next + 1] === '/') {
      const closing = tagAt(text, next);
      if (closing.name !== opened.name) throw new Error(`<${opened.name}> ended by </${closing.name}>`);
      return { element: { name: opened.name, nil, children, text: content }, end: closing.end };
    }
    const child = elementAt(text, next);
    children.push(child.element);
    at = child.end;
  }
}

function tagAt(text: string, start: number) {
  tag.lastIndex = start;
  const found = tag.exec(text);
  if (!found) throw new Error(`no tag at ${start}: ${text.slice(start, start + 40)}`);
  const [whole, closes, name, attributes, empty] = found as unknown as [string, string, string, string, string];
  return { name, attributes, closes: closes !== '', empty: empty !== '', end: start + whole.length };
}

function unescaped(text: string): string {
  if (/[<>]/.test(text)) throw new Error('a bracket in text');
  return text.replace(/&(#\d+|\w+);|&/g, (found, name: string | undefined) => {
    const value = name?.startsWith('#') ? String.fromCodePoint(Number(name.slice(1))) : references[name ?? ''];
    if (value === undefined) throw new Error(`the reference ${found}`);
    return value;
  });
}

/** The JSON name that the name of an element encodes. */
export function jsonNameOf(name: string): string {
  return name === '_x_'
    ? ''
    : name.replace(/_x([0-9A-F]{4,6})_/g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
}
