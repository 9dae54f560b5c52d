import { expect, test } from 'vitest';
import { declaredSettings, setForSession, setForTransaction, withoutOptions } from '../../../src/dialect/postgresql/settings.ts';

const database = { url: 'postgresql://a@b/c', statementTimeout: 0 };

test('the options of a URL become settings, with escaped blanks and quotes', () => {
  const options = encodeURIComponent("-c search_path=mine,public --app.name=it's\\ mine -cwork_mem=8MB");
  expect(declaredSettings({ ...database, url: `postgresql://a@b/c?options=${options}` })).toEqual([
    ['search_path', 'mine,public'],
    ['app.name', "it's mine"],
    ['work_mem', '8MB'],
  ]);
});

test('a read-only transaction is read-only itself, a session in all of its transactions', () => {
  const settings = declaredSettings({ ...database, readOnly: true });
  expect(setForSession(settings)).toBe("select set_config('default_transaction_read_only', 'on', false)");
  expect(setForTransaction(settings)).toBe("select set_config('transaction_read_only', 'on', true)");
});

test('without settings nothing is set', () => {
  expect([setForSession([]), setForTransaction(declaredSettings(database))]).toEqual([null, null]);
});

test('a value with quotes and backslashes stays one text', () => {
  expect(setForSession([['app.name', "a\\'; drop"]])).toBe("select set_config('app.name',  E'a\\\\''; drop', false)");
});

test('the URL for a pooler keeps everything but its options', () => {
  expect(withoutOptions('postgresql://a:b@c:1/d?options=-c%20x%3D1&sslmode=require')).toBe(
    'postgresql://a:b@c:1/d?sslmode=require',
  );
});
