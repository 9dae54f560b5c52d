import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { xmlDocument, xmlPieces } from '../../src/response/xml.ts';
import { rewriteJson } from '../../src/serialization/formats.ts';
import { jsonNameOf, parseXml, type XmlElement } from '../support/xml.ts';

const xml = (value: unknown) => rewriteJson('xml', JSON.stringify(value), null);
const inner = (value: unknown) => /^<\?xml [^>]*>\n<response [^>]*>(.*)<\/response>\n$/s.exec(xml(value))?.[1];

describe('XML', () => {
  test.each([
    [{ a: 1, b: true, c: 'x', d: null, e: 1.5 }, '<a>1</a><b>true</b><c>x</c><d xsi:nil="true"/><e>1.5</e>'],
    [{ a: [1, null, { b: 'c' }], e: [] }, '<a><item>1</item><item xsi:nil="true"/><item><b>c</b></item></a><e></e>'],
    [{ t: '<&>]]>"\'' }, `<t>&lt;&amp;&gt;]]&gt;"'</t>`],
    [{ t: 'a\r\nb\tc\u0000\u001b\ufffe' }, '<t>a&#13;\nb\tc\ufffd\ufffd\ufffd</t>'],
    [{ t: '\ud800x😀' }, '<t>\ufffdx😀</t>'],
    [
      { 'a b': 1, '1': 2, '-': 3, 'x:y': 4 },
      '<_x0031_>2</_x0031_><a_x0020_b>1</a_x0020_b><_x002D_>3</_x002D_><x_x003A_y>4</x_x003A_y>',
    ],
    [
      { xmlns: 1, XML: 2, _x0020_: 3, '': 4, é: 5, '😀': 6 },
      '<_x0078_mlns>1</_x0078_mlns><_x0058_ML>2</_x0058_ML><_x005F_x0020_>3</_x005F_x0020_><_x_>4</_x_><é>5</é><😀>6</😀>',
    ],
    ['text', 'text'],
  ])('for %j', (value, expected) => {
    expect(inner(value)).toBe(expected);
  });

  test('is well formed and has every member, whatever the JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.string({ unit: 'binary' }), (value, name) => {
        const given = { [name]: value, t: name } as Record<string, unknown>;
        compare(parseXml(xml(given)), JSON.parse(JSON.stringify(given)));
      }),
      { numRuns: 1000 },
    );
  });

  test('is the same when written in chunks', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), (value) => {
        expect([...xmlPieces(value)].join('')).toBe(xmlDocument(value));
      }),
    );
  });
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: what XML has not
const unspeakable = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

function compare(element: XmlElement, value: unknown): void {
  expect(element.nil).toBe(value === null);
  if (Array.isArray(value)) {
    expect(element.children.map(({ name }) => name)).toEqual(value.map(() => 'item'));
    for (const [i, child] of element.children.entries()) compare(child, value[i]);
  } else if (typeof value === 'object' && value !== null) {
    expect(element.children.map(({ name }) => jsonNameOf(name))).toEqual(Object.keys(value));
    for (const [i, child] of element.children.entries()) compare(child, Object.values(value)[i]);
  } else if (value !== null) {
    expect(element.text).toBe(
      typeof value === 'string' ? value.toWellFormed().replace(unspeakable, '\ufffd') : JSON.stringify(value),
    );
  }
}
