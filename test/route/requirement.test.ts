import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ambiguityOf } from '../../src/route/ambiguity.ts';
import { buildAutomaton } from '../../src/route/automaton.ts';
import { contains } from '../../src/route/character-set.ts';
import { checkRequirement, maxValueLength, requirementSource } from '../../src/route/requirement.ts';
import { type Expression, parseRequirement } from '../../src/route/requirement-syntax.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { backtrack, stepsOf } from './backtracker.ts';

describe('an unambiguous requirement', () => {
  test.each([
    '\\d+',
    '',
    'a',
    '.+',
    '[^/]+',
    '[a-z0-9]+(?:-[a-z0-9]+)*',
    '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}',
    '[0-9A-HJKMNP-TV-Z]{26}',
    '^\\d+$',
    '^a|b$',
    '(?<year>\\d{4})-(?<month>\\d\\d)',
    '(ab|ac)*',
    '(?:a|b)*a(?:a|b){8}',
    '(\\w+\\.)+[a-z]{2,}',
    '(a?)*',
    '(a?){0,50}',
    '(?:){999999999}',
    '(?:[0-9a-f]{2}){50}',
    '(?:x{300}|y)*',
    '\\S+@\\S+',
    '[]',
    '(?:[]a|b)*',
    'a+?b*?c??d{2,3}?',
    '\\x41\\u0042\\t\\n\\v\\f\\r\\0\\.\\-\\/\\_',
    '[\\d\\-a-c.(){}|*+?^$-]',
    '[^\\D]',
    '[a-]',
    '[-a]',
  ])('is accepted: %s', (source) => {
    expect(checkRequirement(source)).toBe(null);
    expect(() => new RegExp(source)).not.toThrow();
  });
});

describe('a requirement with mild ambiguity', () => {
  test.each(['\\d*\\d*', '\\d*\\d*\\d*', '(\\d{1,3}){8}', 'a?'.repeat(15)])('is accepted: %s', (source) => {
    expect(checkRequirement(source)).toBe(null);
  });
});

describe('a requirement that can backtrack catastrophically', () => {
  test.each([
    '(a+)+',
    '(\\d+)*x',
    '(a|a)*',
    '(\\w|\\d)+',
    '(a|ab|b)*c',
    '(a*)*',
    '(a*)+',
    '((a?)*)*',
    '(a*b?)*',
    '(a|[a-c])*',
    '(.*)*',
    '(a{1,50}){2,}',
    '(?:ab|a(?:b|c))*d',
    '(aa|aaa)*',
    'x(?:y(?:a|b|ab)+)?z',
  ])('is rejected: %s', (source) => {
    expect(checkRequirement(source)).toMatch(/can backtrack catastrophically: a repeated part .* rewrite it/);
  });

  test.each([
    '(a?){50}',
    '(a|aa){30}',
    'a?'.repeat(30),
    '(a|a)'.repeat(30),
    '\\d*'.repeat(4),
    '(a{0,100}){1,5}',
    '[0-9]{8}-(a?){40}',
  ])('is rejected even without unbounded repetition: %s', (source) => {
    expect(checkRequirement(source)).toMatch(/can backtrack catastrophically: too many .* merge them/);
  });
});

describe('a requirement that is too large', () => {
  test.each([
    'a{3000}',
    '(a{100}){1000}',
    '(|){30}',
    '(|){5000}',
    '(a?){1000}',
    'a{999999999999}',
    '(?:[]?){99999}',
    '(.{0,40}|x){2,40}y*'.repeat(1),
  ])('is rejected: %s', (source) => {
    const start = cpuTime();
    expect(checkRequirement(source)).toMatch(/too large|too many/);
    expect(cpuTime() - start).toBeLessThan(3000);
  });

  test('is rejected if it has too many pairs of states to check', () => {
    expect(checkRequirement(`(?:${'a?'.repeat(100)}b)*`)).toContain('too large');
  });

  test('is rejected for its length', () => {
    expect(checkRequirement('a'.repeat(1001))).toContain('longer than 1000 characters');
  });
});

describe('unsupported syntax in requirements', () => {
  test.each([
    ['a(?=b)', 'lookahead and lookbehind'],
    ['a(?!b)', 'lookahead and lookbehind'],
    ['(?<=a)b', 'lookahead and lookbehind'],
    ['(?<!a)b', 'lookahead and lookbehind'],
    ['(a)\\1', 'backreferences'],
    ['(?<a>b)\\k<a>', 'backreferences'],
    ['\\bfoo', '"\\b"'],
    ['[\\b]', '"\\b"'],
    ['\\Bfoo', '"\\B"'],
    ['\\p{L}', '"\\p"'],
    ['\\012', 'octal'],
    ['a^b', '"^" inside'],
    ['(^a)', '"^" inside'],
    ['a$b', '"$" inside'],
    ['(a$)', '"$" inside'],
  ])('%s', (source, what) => {
    expect(checkRequirement(source)).toContain(`uses an unsupported feature: ${what}`);
  });
});

describe('an invalid expression', () => {
  test.each([
    ['(', 'not closed'],
    ['(a', 'not closed'],
    [')', 'has a ")" without "("'],
    ['a)b', 'has a ")" without "("'],
    ['[a', 'not closed'],
    ['[a-', 'not closed'],
    ['[\\', 'lone "\\"'],
    ['\\', 'lone "\\"'],
    ['*', 'nothing to repeat'],
    ['a|+', 'nothing to repeat'],
    ['(?', 'unknown kind of group'],
    ['(?a)', 'unknown kind of group'],
    ['(?<1>a)', 'unknown kind of group'],
    ['(?<a>b)(?<a>c)', 'two groups named "a"'],
    ['a**', 'repeats a repetition'],
    ['a{1}{2}', 'repeats a repetition'],
    ['a{3,2}', 'swap the numbers'],
    ['[z-a]', 'runs backwards'],
    ['[a-\\d]', 'does not go from one character to another'],
    ['[\\d-a]', 'does not go from one character to another'],
    ['{', 'lone "{"'],
    ['a{,3}', 'lone "{"'],
    ['a{x}', 'lone "{"'],
    [']', 'lone "]"'],
    ['}', 'lone "}"'],
    ['\\x1', 'without 2 hexadecimal digits'],
    ['\\u00g0', 'without 4 hexadecimal digits'],
    ['\\e', 'unknown escape "\\e"'],
  ])('%s', (source, what) => {
    expect(checkRequirement(source)).toMatch(/^is not a valid regular expression: at character \d+ it /);
    expect(checkRequirement(source)).toContain(what);
    expect(() => requirementSource(source)).toThrow(`The requirement "${source}" is not a valid regular expression`);
  });
});

// Random expressions over two letters, small enough for brute force.
const letters = fc.constantFrom('a', 'b', '[ab]');
const expressions = (maxDepth: number, ...quantifiers: string[]) =>
  fc.letrec<{ expression: string }>((tie) => ({
    expression: fc.oneof(
      { maxDepth, withCrossShrink: true },
      letters,
      fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `${a}${b}`),
      fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `(?:${a}|${b})`),
      fc.tuple(tie('expression'), fc.constantFrom(...quantifiers)).map(([a, quantifier]) => `(${a})${quantifier}`),
    ),
  })).expression;
const expression = expressions(4, '*', '+', '?', '*?', '+?', '{2}', '{0,2}', '{1,3}', '{2,}');
// Without repetitions that force long texts, so that the text to repeat is among those tried.
const shortExpression = expressions(3, '*', '+', '?', '*?', '{0,2}', '{1,2}');

function wordsOf(longest: number): string[] {
  let words = [''];
  const all = [''];
  for (let length = 1; length <= longest; length++) {
    words = words.flatMap((word) => [`${word}a`, `${word}b`]);
    all.push(...words);
  }
  return all;
}

const pumps = wordsOf(4).slice(1);
const longPumps = wordsOf(7).slice(1);

/** A text that leads to each state. */
function prefixesOf(parsed: Expression): string[] {
  const { sets, edges } = buildAutomaton(parsed);
  const reached = new Map([[sets.length, '']]);
  for (const [state, prefix] of reached) {
    for (const next of edges[state]?.keys() ?? []) {
      if (!reached.has(next)) reached.set(next, `${prefix}${contains(sets[next] ?? [], 97) ? 'a' : 'b'}`);
    }
  }
  return [...new Set(reached.values())];
}

describe('every expression', () => {
  test('means the same after it is rewritten', () => {
    const sources = fc.oneof(
      expression,
      fc.constantFrom(
        '[^a]',
        '\\w\\W',
        '\\s*\\S',
        '.|\\n',
        '[\\d_-]',
        '\\u0061|b',
        '[^]',
        '[]|a',
        '(?:[])*b',
        '\\(\\)',
        '^a|(?<x>b)$',
      ),
    );
    fc.assert(
      fc.property(
        sources,
        fc.string({ unit: fc.constantFrom('a', 'b', '1', '-', ' ', '\n', '(', ')', 'é'), maxLength: 6 }),
        (source, text) => {
          const original = new RegExp(`^(?:${source})$`).test(text);
          expect(new RegExp(`^${requirementSource(source)}$`).test(text)).toBe(original);
          expect(backtrack(parseRequirement(source), text).matched).toBe(original);
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('has no capturing groups left', () => {
    fc.assert(
      fc.property(expression, (source) => {
        expect(new RegExp(`${requirementSource(source)}|`).exec('')).toHaveLength(1);
      }),
    );
  });

  // One text for each expression: the steps of one that is barely accepted are many, and all texts together would take seconds.
  test('that is accepted never makes a backtracking matcher too slow', () => {
    fc.assert(
      fc.property(expression, fc.constantFrom('', 'a', 'b'), fc.constantFrom(...pumps), (source, prefix, pump) => {
        const parsed = parseRequirement(source);
        fc.pre(ambiguityOf(parsed, maxValueLength) === null);
        const text = `${`${prefix}${pump.repeat(100)}`.slice(0, maxValueLength - 1)}!`;
        expect(stepsOf(parsed, text, 20_000_000)).toBeLessThan(20_000_000);
      }),
      { numRuns: 1000 },
    );
  });

  test('that is rejected as exponential doubles the steps with each repetition of some text', () => {
    fc.assert(
      fc.property(shortExpression, (source) => {
        const parsed = parseRequirement(source);
        fc.pre(ambiguityOf(parsed, maxValueLength) === 'exponential');
        const most = 300_000;
        const grows = prefixesOf(parsed).some((prefix) =>
          longPumps.some((pump) => {
            const [few, many] = [6, 14].map((times) => stepsOf(parsed, `${prefix}${pump.repeat(times)}!`, most)) as [
              number,
              number,
            ];
            return many === Number.POSITIVE_INFINITY || many / few > 60;
          }),
        );
        expect(grows).toBe(true);
      }),
      { numRuns: Number(process.env.FC_RUNS ?? 30) },
    );
  });
});

test('accepted requirements run fast in this engine', () => {
  for (const source of [
    '(a?){0,50}',
    '\\d*\\d*\\d*',
    '(\\w+\\.)+[a-z]{2,}',
    '[a-z0-9]+(?:-[a-z0-9]+)*',
    '(a?)*',
    '(\\d{1,3}){8}',
  ]) {
    const compiled = new RegExp(`^${requirementSource(source)}$`);
    for (const unit of ['a', '1', 'a.', 'a-', '11']) {
      const start = cpuTime();
      compiled.test(`${unit.repeat(99 / unit.length)}!`);
      expect(cpuTime() - start).toBeLessThan(2000);
    }
  }
});
