/** How values of JSON become elements. */
interface Elements {
  /** The element name of a list entry. */
  readonly item: string;
  /** The attribute of an element for null; if it is null itself, such elements are left out. */
  readonly nil: string | null;
}

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n';
const responseStart = 'response xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';
const responses: Elements = { item: 'item', nil: ' xsi:nil="true"' };
/** The most members of a piece. */
const shortLength = 100;
/** As RFC 9457 writes them. */
const problems: Elements = { item: 'i', nil: null };

/**
 * A JSON value as an XML document: an element for each member, `item` for each entry of a list, `xsi:nil` for null, and
 * no other attributes.
 */
export function xmlDocument(value: unknown): string {
  return `${declaration}${element(responseStart, 'response', value, responses)}\n`;
}

/** The same in short pieces. */
export function* xmlPieces(value: unknown): Generator<string, void> {
  yield declaration;
  yield* elementPieces(responseStart, 'response', value);
  yield '\n';
}

function* elementPieces(start: string, end: string, value: unknown): Generator<string, void> {
  if (typeof value !== 'object' || value === null || isShort(value)) {
    yield element(start, end, value, responses);
    return;
  }
  yield `<${start}>`;
  if (Array.isArray(value)) for (const entry of value) yield* elementPieces(responses.item, responses.item, entry);
  else
    for (const key of Object.keys(value)) {
      const name = xmlName(key);
      yield* elementPieces(name, name, (value as Record<string, unknown>)[key]);
    }
  yield `</${end}>`;
}

/** Whether an object or a list has few members, and no further objects or lists. */
function isShort(value: object): boolean {
  let count = 0;
  for (const key in value) {
    if (++count > shortLength) return false;
    const member = (value as Record<string, unknown>)[key];
    if (typeof member === 'object' && member !== null) return false;
  }
  return true;
}

/** A problem document in XML (RFC 9457, appendix B). */
export function xmlProblem(document: Readonly<Record<string, unknown>>): string {
  return `${declaration}${element('problem xmlns="urn:ietf:rfc:7807"', 'problem', document, problems)}\n`;
}

function element(start: string, end: string, value: unknown, elements: Elements): string {
  if (value === null || value === undefined) return elements.nil === null ? '' : `<${start}${elements.nil}/>`;
  return `<${start}>${content(value, elements)}</${end}>`;
}

function content(value: unknown, elements: Elements): string {
  const { item } = elements;
  if (typeof value === 'string') return xmlText(value);
  if (Array.isArray(value)) return value.map((entry) => element(item, item, entry, elements)).join('');
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  let text = '';
  for (const [key, member] of Object.entries(value)) {
    const name = xmlName(key);
    text += element(name, name, member, elements);
  }
  return text;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
const special = /[&<>\r\u0000-\u0008\u000b\u000c\u000e-\u001f\ud800-\udfff\ufffe\uffff]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: see above
const invalid = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/**
 * Escapes a text. Characters that XML cannot contain, such as most control characters, become U+FFFD. A carriage return is
 * escaped because XML parsers would read it as a line feed.
 */
function xmlText(text: string): string {
  if (!special.test(text)) return text;
  // four passes are faster than one with a callback
  return text
    .toWellFormed()
    .replace(invalid, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\r', '&#13;');
}

const nameStart =
  'A-Z_a-z\\u{c0}-\\u{d6}\\u{d8}-\\u{f6}\\u{f8}-\\u{2ff}\\u{370}-\\u{37d}\\u{37f}-\\u{1fff}\\u{200c}\\u{200d}\\u{2070}-\\u{218f}\\u{2c00}-\\u{2fef}\\u{3001}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{fffd}\\u{10000}-\\u{effff}';
const nameRest = `${nameStart}\\-.0-9\\u{b7}\\u{300}-\\u{36f}\\u{203f}\\u{2040}`;
const plainName = new RegExp(`^[${nameStart}][${nameRest}]*$`, 'u');
const escapes = /_x(?=[0-9A-F]{4,6}_|_$)/g;
const starts = new RegExp(`^(?![${nameStart}])[^]`, 'u');
const others = new RegExp(`[^${nameRest}]`, 'gu');

/** A JSON name as an element name. Characters that XML names cannot contain are escaped by code point: `_x0020_`. */
function xmlName(name: string): string {
  const isReserved = /^xml/i.test(name);
  if (!isReserved && plainName.test(name) && !name.includes('_x')) return name;
  if (name === '') return '_x_';
  const escaped = name.replace(escapes, '_x005F_x');
  const startEscaped = escaped.replace(isReserved ? /^./s : starts, codeOf);
  return startEscaped.replace(others, codeOf);
}

function codeOf(character: string): string {
  return `_x${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}_`;
}
