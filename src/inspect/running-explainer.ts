import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Application, ApplicationOptions } from '../application.ts';
import { dialectOf, type MemoryDatabase } from '../dialect/dialect.ts';
import { type Explainer, openExplainer, type RequestToExplain } from './explainer.ts';
import type { Explanation } from './explanation.ts';

interface Opened extends Explainer {
  /** How much had been changed when a copy was made; null where the database itself is read. */
  readonly changes: unknown;
}

/**
 * Explains requests to an application that is running, on connections of its own that cannot change anything. A database in memory is
 * open to the running application only, and is copied for each state that it is in.
 */
export class RunningExplainer {
  readonly #application: Application;
  readonly #options: ApplicationOptions;
  #opened: Opened | null = null;
  #last: Promise<unknown> = Promise.resolve();

  /** The options are those that the application was loaded with. */
  constructor(application: Application, options: ApplicationOptions) {
    this.#application = application;
    this.#options = options;
  }

  explain(request: RequestToExplain): Promise<Explanation> {
    const explained = this.#last.then(async () => (await this.#current()).explain(request));
    this.#last = explained.catch(() => undefined);
    return explained;
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#opened?.close();
    this.#opened = null;
  }

  async #current(): Promise<Explainer> {
    const { declaration, mapper } = this.#application;
    const { memory } = dialectOf(mapper).connections;
    const changes = memory ? await memory.changes() : null;
    if (this.#opened && this.#opened.changes !== changes) {
      await this.#opened.close();
      this.#opened = null;
    }
    this.#opened ??= memory
      ? await openedCopy(this.#options, memory, declaration.database.url, changes)
      : { ...(await openExplainer(this.#options)), changes };
    return this.#opened;
  }
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
