import { describe, expect, test } from 'vitest';
import { resolvePlaceholders, unreadable } from '../../src/declaration/placeholders.ts';

const env = {
  NAME: 'value',
  EMPTY: '',
  PORT: '8080',
  NEGATIVE: '-5',
  ON: 'yes',
  OFF: 'False',
  WORD: 'hunter2',
  HUGE: '9'.repeat(30),
};

function resolve(text: string): unknown {
  const messages: string[] = [];
  const value = resolvePlaceholders(text, env, (message) => messages.push(message));
  return messages.length > 0 ? [value, ...messages] : value;
}

describe('a placeholder', () => {
  test.each([
    ['no placeholder', 'no placeholder'],
    ['%env(NAME)%', 'value'],
    ['%env(EMPTY)%', ''],
    ['%env(default::EMPTY)%', null],
    ['%env(int:PORT)%', 8080],
    ['%env(int:NEGATIVE)%', -5],
    ['%env(bool:ON)%', true],
    ['%env(bool:OFF)%', false],
    ['%env(default:fallback:NAME)%', 'value'],
    ['%env(default:fallback:MISSING)%', 'fallback'],
    ['%env(default:fallback:EMPTY)%', 'fallback'],
    ['%env(default:sqlite:var/app.db:MISSING)%', 'sqlite:var/app.db'],
    ['%env(default::MISSING)%', null],
    ['%env(int:default::MISSING)%', null],
    ['%env(int:default:3000:MISSING)%', 3000],
    ['%env(int:default:3000:PORT)%', 8080],
    ['%env(bool:default:true:MISSING)%', true],
    ['http://%env(NAME)%:%env(int:PORT)%/', 'http://value:8080/'],
    ['%env(NAME)%%env(NAME)%', 'valuevalue'],
    ['a%env(default::MISSING)%b', 'ab'],
    ['100%%', '100%'],
    ['100%', '100%'],
    ['%%env(NAME)%%', '%env(NAME)%'],
    ['%%%env(NAME)%', '%value'],
    ['%name%', '%name%'],
  ])('%j becomes %j', (text, expected) => {
    expect(resolve(text)).toEqual(expected);
  });

  test.each([
    ['%env(MISSING)%', 'the environment variable MISSING is not set; set it, or write %env(default:value:MISSING)%'],
    ['x%env(MISSING)%', 'the environment variable MISSING is not set; set it, or write %env(default:value:MISSING)%'],
    ['%env(int:WORD)%', 'the environment variable WORD is not an integer'],
    ['%env(int:EMPTY)%', 'the environment variable EMPTY is empty; set it, or write %env(int:default:value:EMPTY)%'],
    ['%env(int:HUGE)%', 'the environment variable HUGE is not an integer'],
    ['%env(int:default:many:MISSING)%', 'the default of MISSING is not an integer'],
    ['%env(bool:WORD)%', 'the environment variable WORD is not a boolean; use true or false'],
    [
      '%env(default:3000:int:PORT)%',
      'the placeholder %env(default:3000:int:PORT)% has "int" after "default"; write %env(int:default:value:PORT)%',
    ],
    [
      '%env(json:NAME)%',
      'the placeholder %env(json:NAME)% cannot be read: "json" is not a processor; write %env(NAME)%, %env(int:NAME)%, %env(bool:NAME)% or %env(default:value:NAME)%',
    ],
    [
      '%env(not a name)%',
      'the placeholder %env(not a name)% cannot be read: "not a name" is not the name of a variable; write %env(NAME)%, %env(int:NAME)%, %env(bool:NAME)% or %env(default:value:NAME)%',
    ],
    ['%env(NAME', 'a placeholder is not closed; write %env(NAME)%, or %% for a percent sign'],
  ])('%j is rejected', (text, message) => {
    expect(resolve(text)).toEqual([unreadable, message]);
  });

  test('never shows the value of a variable in an error', () => {
    expect(JSON.stringify([resolve('%env(int:WORD)%'), resolve('%env(bool:WORD)%')])).not.toContain('hunter2');
  });
});
