import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ApiController } from '../../src/actions/controller/api-controller.ts';
import { headingsOf, readPage, root, tableBelow } from './markdown.ts';

const page = 'docs/reference/controllers.md';
const nameIn = (cell: string | undefined) => /^`?(\w+)/.exec(cell ?? '')?.[1];
const methods = Object.getOwnPropertyNames(ApiController.prototype).filter((name) => name !== 'constructor');
const hooks = tableBelow(page, 'Hooks').map(([cell]) => nameIn(cell) as string);

describe('docs/reference/controllers.md', () => {
  test('has exactly the hooks, in calling order', () => {
    const source = readFileSync(join(root, 'src', 'actions', 'hooks.ts'), 'utf8');
    const body = /interface ControllerHooks \{\n([\s\S]*?)\n\}/.exec(source)?.[1] ?? '';
    const declared = [...body.matchAll(/^ {2}(\w+)\(/gm)].map((match) => match[1]);
    expect(declared.length).toBeGreaterThan(0);
    expect(hooks).toEqual(declared);
    expect(methods).toEqual(expect.arrayContaining(hooks));
    expect(methods.filter((name) => /^(before|after)[A-Z]|^customize/.test(name) && !hooks.includes(name))).toEqual([]);
  });

  test('has every method of ApiController as a hook, a helper or the handler of a default action', () => {
    const helpers = tableBelow(page, 'Helpers').map(([cell]) => nameIn(cell));
    const section = readPage(page).split('## Default actions')[1] ?? '';
    const handlers = [...section.matchAll(/`(\w+Api)\(/g)].map((match) => match[1]);
    expect([...new Set([...hooks, ...helpers, ...handlers])].toSorted()).toEqual(methods.toSorted());
    expect(headingsOf(page)).toContain('Default actions');
  });
});
