import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { watchApplication } from '../../src/cli/watch-application.ts';
import { write, writeFiles } from './applications.ts';

describe('a watched application', () => {
  let directory: string;
  let watcher: ReturnType<typeof watchApplication>;

  beforeEach(() => {
    directory = writeFiles({
      'config/a.yaml': 'a',
      'var/app.db': '',
      'node_modules/x/index.js': '',
      'src/node_modules/y.js': '',
    });
    watcher = watchApplication(directory);
  });
  afterEach(() => watcher.close());

  test('reports a changed file, and a burst of changes once', async () => {
    write(directory, 'config/b.yaml', 'b');
    write(directory, 'config/a.yaml', 'A');
    expect(await watcher.next()).toEqual(['config/a.yaml', 'config/b.yaml']);
  });

  test('reports a change that came before the first read', async () => {
    write(directory, 'config/a.yaml', 'A');
    await sleep(250);
    expect(await watcher.next()).toEqual(['config/a.yaml']);
  });

  test('detects a file saved by replacing it', async () => {
    write(directory, 'config/a.yaml~', 'A');
    renameSync(join(directory, 'config/a.yaml~'), join(directory, 'config/a.yaml'));
    expect(await watcher.next()).toEqual(['config/a.yaml']);
    write(directory, 'config/a.yaml', 'AA');
    expect(await watcher.next()).toEqual(['config/a.yaml']);
  });

  test('detects new folders and files in them', async () => {
    mkdirSync(join(directory, 'src/models/deep'), { recursive: true });
    await watcher.next();
    write(directory, 'src/models/deep/person.ts', '');
    expect(await watcher.next()).toEqual(['src/models/deep/person.ts']);
  });

  test('detects a folder that is removed and created again', async () => {
    renameSync(join(directory, 'config'), join(directory, 'old'));
    expect(await watcher.next()).toEqual(['config']);
    renameSync(join(directory, 'old'), join(directory, 'config'));
    expect(await watcher.next()).toEqual(['config']);
    write(directory, 'config/a.yaml', 'A');
    expect(await watcher.next()).toEqual(['config/a.yaml']);
  });

  test('detects a removed file', async () => {
    rmSync(join(directory, 'config/a.yaml'));
    expect(await watcher.next()).toEqual(['config/a.yaml']);
  });

  test('does not follow a cyclic link', async () => {
    symlinkSync(directory, join(directory, 'src/loop'));
    expect(await watcher.next()).toEqual(['src/loop']);
  });

  test('ignores data, packages, hidden files and backups', async () => {
    for (const file of [
      'var/app.db',
      'node_modules/x/index.js',
      'src/node_modules/y.js',
      'config/.a.swp',
      'config/a.yaml~',
      'x.ts',
    ])
      write(directory, file, 'changed');
    await sleep(250);
    write(directory, 'config/a.yaml', 'A');
    expect(await watcher.next()).toEqual(['config/a.yaml']);
  });
});
