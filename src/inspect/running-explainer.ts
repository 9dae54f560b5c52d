import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Application, ApplicationOptions } from '../application.ts';
import { dialectOf, type MemoryDatabase } from '../dialect/dialect.ts';
import { type Explainer, openExplainer } from './explainer.ts';

interface Opened extends Explainer {
  /** The state of the database that was copied; null if the database itself is read. */
  readonly changes: unknown;
}

/**
 * Explains requests to a running application, one after another, on its own read-only connections. Only the running application
 * can open its database in memory, so each state of such a database is copied. The options are those of the running application.
 */
export function runningExplainer({ declaration, mapper }: Application, options: ApplicationOptions): Explainer {
  const { memory } = dialectOf(mapper).connections;
  let opened: Opened | null = null;
  let last: Promise<unknown> = Promise.resolve();

  async function close(): Promise<void> {
    await opened?.close();
    opened = null;
  }

  async function current(): Promise<Explainer> {
    const changes = memory ? await memory.changes() : null;
    if (opened?.changes !== changes) await close();
    opened ??= memory
      ? await openedCopy(options, memory, declaration.database.url, changes)
      : { ...(await openExplainer(options)), changes };
    return opened;
  }

  return {
    explain(request) {
      const explained = last.then(async () => (await current()).explain(request));
      last = explained.catch(() => undefined);
      return explained;
    },
    close: () => last.then(close),
  };
}

async function openedCopy(options: ApplicationOptions, memory: MemoryDatabase, copy: string, changes: unknown): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), 'declarest-explain-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const databaseUrl = await memory.copyTo(join(folder, 'copy.db'));
    const { close, explain } = await openExplainer({ ...options, databaseUrl }, copy);
    return { explain, changes, close: () => close().finally(remove) };
  } catch (error) {
    remove();
    throw error;
  }
}
