import { copyFile, link, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { developmentKey } from '../../src/access/development-key.ts';

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>();
  return { ...real, link: vi.fn(real.link), copyFile: vi.fn(real.copyFile), writeFile: vi.fn(real.writeFile) };
});

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'declarest-key-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

describe('the development key', () => {
  test('is created once, random and readable only by its owner', async () => {
    const key = await developmentKey(directory);
    expect(key).toMatch(/^[\w-]{43}$/);
    const file = join(directory, 'var', 'dev-jwt.key');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readFile(file, 'utf8')).trim()).toBe(key);
    expect(await developmentKey(directory)).toBe(key);
  });

  test('is the same for concurrent first callers and leaves no temporary file behind', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => developmentKey(directory)));
    expect(new Set(keys).size).toBe(1);
    expect(await readdir(join(directory, 'var'))).toEqual(['dev-jwt.key']);
  });

  test('differs between applications', async () => {
    const other = join(directory, 'other');
    expect(await developmentKey(other)).not.toBe(await developmentKey(directory));
  });

  test('is rejected if its file is truncated', async () => {
    await mkdir(join(directory, 'var'));
    await writeFile(join(directory, 'var', 'dev-jwt.key'), 'short\n');
    await expect(developmentKey(directory)).rejects.toThrow('is damaged; delete it, and Declarest creates a new one');
  });

  test('is accepted from 32 characters on', async () => {
    await mkdir(join(directory, 'var'));
    await writeFile(join(directory, 'var', 'dev-jwt.key'), `${'k'.repeat(32)}\n`);
    expect(await developmentKey(directory)).toBe('k'.repeat(32));
  });

  test('is created in an existing directory', async () => {
    await mkdir(join(directory, 'var'));
    expect(await developmentKey(directory)).toMatch(/^[\w-]{43}$/);
  });

  test('is written in full to a uniquely named temporary file that only its owner can read', async () => {
    vi.mocked(writeFile).mockClear();
    await developmentKey(directory);
    const [draft, text, options] = vi.mocked(writeFile).mock.calls[0] as [string, string, object];
    expect(draft).toMatch(/dev-jwt\.key\.[0-9a-f]{16}$/);
    expect(text).toMatch(/^[\w-]{43}\n$/);
    expect(options).toEqual({ mode: 0o600, flag: 'wx' });
  });

  test('is not created if it cannot be written, and the error gives the reason', async () => {
    vi.mocked(writeFile).mockRejectedValueOnce(Object.assign(new Error('full'), { code: 'ENOSPC' }));
    await expect(developmentKey(directory)).rejects.toMatchObject({ code: 'ENOSPC' });
  });

  test('is not silently replaced if its file cannot be read', async () => {
    await mkdir(join(directory, 'var', 'dev-jwt.key'), { recursive: true });
    await expect(developmentKey(directory)).rejects.toMatchObject({ code: 'EISDIR' });
  });

  test('is created with the same permissions on a file system without links', async () => {
    vi.mocked(link).mockRejectedValueOnce(Object.assign(new Error('no links'), { code: 'EPERM' }));
    const key = await developmentKey(directory);
    expect((await stat(join(directory, 'var', 'dev-jwt.key'))).mode & 0o777).toBe(0o600);
    expect(await developmentKey(directory)).toBe(key);
  });

  test('is not created if the disk is full, and leaves no temporary file behind', async () => {
    vi.mocked(link).mockRejectedValueOnce(Object.assign(new Error('no links'), { code: 'EPERM' }));
    vi.mocked(copyFile).mockRejectedValueOnce(Object.assign(new Error('full'), { code: 'ENOSPC' }));
    await expect(developmentKey(directory)).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(await readdir(join(directory, 'var'))).toEqual([]);
  });

  test('is not created if its directory cannot be created', async () => {
    await writeFile(join(directory, 'var'), 'a file where a directory should be');
    await expect(developmentKey(directory)).rejects.toMatchObject({ code: expect.stringMatching(/^E(NOTDIR|EXIST)$/) });
  });
});
