import { randomBytes } from 'node:crypto';
import { constants, copyFile, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The secret an application signs its tokens with while none is declared: read from `var/dev-jwt.key` in its directory, which
 * is made when it is not there. Only the owner can read it.
 */
export async function developmentKey(directory: string): Promise<string> {
  const file = developmentKeyFile(directory);
  return (await readKey(file)) ?? (await createKey(file));
}

/** Where it is kept. */
export function developmentKeyFile(directory: string): string {
  return join(directory, 'var', 'dev-jwt.key');
}

async function readKey(file: string): Promise<string | null> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  const key = text.trim();
  if (key.length < 32) throw new Error(`the development key ${file} is damaged; delete it, and Declarest creates a new one`);
  return key;
}

/** Written in full beside its place, then linked there: linking fails if another process was first, and then its key holds. */
async function createKey(file: string): Promise<string> {
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  await mkdir(join(file, '..'), { recursive: true });
  try {
    await writeFile(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
    await link(draft, file)
      // Some file systems have no links; a copy is exclusive too, only not there all at once.
      .catch(() => copyFile(draft, file, constants.COPYFILE_EXCL))
      .catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
  } finally {
    await rm(draft, { force: true });
  }
  return (await readKey(file)) as string;
}
