import { randomBytes } from 'node:crypto';
import { constants, copyFile, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The secret that signs the tokens of an application if none is declared. It is in `var/dev-jwt.key` in the directory of the
 * application. The file is created if it is missing, and only its owner can read it.
 */
export async function developmentKey(directory: string): Promise<string> {
  const file = developmentKeyFile(directory);
  return (await readKey(file)) ?? (await createKey(file));
}

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

/**
 * Writes a draft and links it, so that the file is complete from the start. Linking fails if another process was first; then the
 * key of that process is used.
 */
async function createKey(file: string): Promise<string> {
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  await mkdir(join(file, '..'), { recursive: true });
  try {
    await writeFile(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
    await link(draft, file)
      // Some file systems have no hard links; a copy is exclusive too, but not atomic.
      .catch(() => copyFile(draft, file, constants.COPYFILE_EXCL))
      .catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
  } finally {
    await rm(draft, { force: true });
  }
  return (await readKey(file)) as string;
}
