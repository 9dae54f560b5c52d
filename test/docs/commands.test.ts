import { describe, expect, test } from 'vitest';
import { optionsOf } from '../../src/cli/arguments.ts';
import { commands } from '../../src/cli/commands.ts';
import { headingsOf, readPage } from './markdown.ts';

const page = 'docs/reference/cli.md';

describe('docs/reference/cli.md', () => {
  test('has exactly the commands of the help, in the same order', () => {
    expect(headingsOf(page).slice(1)).toEqual(commands.map(({ name }) => name));
  });

  test.each(commands)('shows the usage of $name with every argument and option', async ({ name, load }) => {
    const command = await load();
    const usage = new RegExp(`^\`declarest ${name}\\b([^\`]*)\``, 'm').exec(readPage(page))?.[1] ?? '';
    const shown = usage.split(/[\s[\]]+/).filter((word) => word.startsWith('--'));
    const options = Object.keys(optionsOf(command)).filter((option) => option !== 'help');
    expect(shown.toSorted()).toEqual(options.map((option) => `--${option}`).toSorted());
    for (const positional of command.positionals) expect(usage).toContain(positional.name);
  });
});
