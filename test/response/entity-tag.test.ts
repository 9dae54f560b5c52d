import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { turnLength } from '../../src/event-loop.ts';
import { EntityTags, markIn, namesStrongly, namesWeakly, readTags } from '../../src/response/entity-tag.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { replay } from '../support/random.ts';

const opaque = fc.string({ unit: fc.constantFrom(...'!#$%&abcXYZ019.-,*/\\~ÿ') });
const tag = fc.record({ weak: fc.boolean(), opaque });
const written = ({ weak, opaque: text }: { weak: boolean; opaque: string }) => `${weak ? 'W/' : ''}"${text}"`;
const gap = fc.constantFrom(',', ', ', ' ,', '\t,\t', ',, ,');

describe('a list of tags', () => {
  test('is parsed as written, whatever the separators', () => {
    const list = fc.array(fc.tuple(tag, gap), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(list, fc.constantFrom('', ' ', ',', ' , '), (tags, start) => {
        const header = start + tags.map(([one, after]) => written(one) + after).join('');
        expect(readTags(header)).toEqual(tags.map(([one]) => one));
      }),
    );
  });

  test('is rejected quickly if malformed', () => {
    const piece = fc.constantFrom('"', '"a"', 'W/', 'w/', '*', ',', ' ', '\t', 'a', 'W/"b"');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        const trimmed = text.replace(/^[ \t]+|[ \t]+$/g, '');
        const items = trimmed.split(',').map((item) => item.replace(/^[ \t]+|[ \t]+$/g, ''));
        const tags = items.filter((item) => item !== '');
        const isList = tags.length > 0 && tags.every((item) => /^(W\/)?"[^" \t]*"$/.test(item));
        const quoted = /"[^"]*,[^"]*"/.test(trimmed);
        // a comma between quotes belongs to the tag
        if (quoted) return;
        expect(readTags(text) !== null).toBe(trimmed === '*' || isList);
      }),
    );
    const started = cpuTime();
    for (const text of [' '.repeat(100_000), `"a"${' '.repeat(100_000)}b`, ','.repeat(100_000), '"'.repeat(100_001)]) {
      expect(readTags(`${text}x`)).toBeNull();
    }
    expect(cpuTime() - started).toBeLessThan(1000);
  });

  test('is compared weakly and strongly as RFC 9110 defines (8.8.3.2)', () => {
    const table: [string, string, boolean, boolean][] = [
      ['W/"1"', 'W/"1"', false, true],
      ['W/"1"', 'W/"2"', false, false],
      ['W/"1"', '"1"', false, true],
      ['"1"', 'W/"1"', false, true],
      ['"1"', '"1"', true, true],
    ];
    for (const [one, other, strongly, weakly] of table) {
      expect([namesStrongly(readTags(one) ?? [], other), namesWeakly(one, other)]).toEqual([strongly, weakly]);
    }
    expect([namesStrongly('*', 'W/"1"'), namesWeakly('*', '"1"'), namesWeakly('1', '"1"')]).toEqual([true, true, false]);
  });
});

describe('a tag', () => {
  const tags = new EntityTags('a secret');

  test('contains a version mark that depends on the row, the version and the secret', () => {
    const mark = tags.mark('course', 7, '3');
    const [read] = readTags(tags.of('{}', mark)) as never as [{ weak: boolean; opaque: string }];
    expect(markIn(read)).toBe(mark);
    const others = [
      tags.mark('course', 7, '4'),
      tags.mark('course', 8, '3'),
      tags.mark('person', 7, '3'),
      new EntityTags('other').mark('course', 7, '3'),
    ];
    expect(new Set([mark, ...others]).size).toBe(5);
    expect(new EntityTags('a secret').mark('course', '7', '3')).toBe(mark);
    expect(markIn({ weak: true, opaque: read.opaque })).toBeNull();
    expect(markIn({ weak: false, opaque: `${mark}.` })).toBeNull();
  });

  test('differs for different texts', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (one, other) => {
        expect(tags.of(one, null) === tags.of(other, null)).toBe(one.toWellFormed() === other.toWellFormed());
      }),
    );
    const long = 'x'.repeat(100_000);
    expect(tags.of(`${long}a`, null)).not.toBe(tags.of(`${long}b`, null));
  });
});

describe('the tag of a long text', () => {
  test('is the same whether it is computed in one turn or in several', async () => {
    const tags = new EntityTags('a secret');
    const unit = fc.constantFrom('x', 'ü', '€', '😀');
    const text = fc.tuple(fc.nat(3), unit, fc.integer({ min: -2, max: 2 }), unit, fc.boolean());
    await fc.assert(
      fc.asyncProperty(text, async ([before, filling, offset, following, isTwice]) => {
        const length = turnLength * (isTwice ? 2 : 1) + offset;
        const body = `${'x'.repeat(before)}${filling.repeat(length)}`.slice(0, length) + following.repeat(3);
        expect(await tags.ofAny(body, null)).toBe(tags.of(body, null));
      }),
      { numRuns: 20, ...replay },
    );
  });
});
