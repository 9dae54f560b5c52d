import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';

/** Tells what changes in an application. */
export interface ApplicationWatcher {
  /** Resolves with the changed files, relative to the application, once there are any and nothing has changed for a moment. */
  next(): Promise<readonly string[]>;
  close(): void;
}

const folders = ['config', 'src'];

/** Milliseconds without a change after which an edit counts as done. */
const quiet = 100;

/** Hidden files, what editors put beside a file while they save it, and what is installed. */
const ignored = /(^|\/)(\.[^/]*|node_modules|4913)(\/|$)|~$/;

/** Watches `config/` and `src/` of an application. */
export function watchApplication(directory: string): ApplicationWatcher {
  const watchers = new Map<string, FSWatcher>();
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let isQuiet = false;
  let waiting: ((files: readonly string[]) => void) | undefined;

  function deliver(): void {
    if (!waiting || !isQuiet || changed.size === 0) return;
    const files = [...changed].sort();
    changed.clear();
    waiting(files);
    waiting = undefined;
  }

  function note(file: string): void {
    if (ignored.test(file)) return;
    changed.add(file);
    isQuiet = false;
    clearTimeout(timer);
    timer = setTimeout(() => {
      isQuiet = true;
      deliver();
    }, quiet);
  }

  /** Watches a folder and all below it, in place of what was watched there before. */
  function watchFolder(folder: string): void {
    for (const [path, watcher] of watchers) {
      if (path !== folder && !path.startsWith(`${folder}/`)) continue;
      watcher.close();
      watchers.delete(path);
    }
    if (ignored.test(folder) || !isDirectory(join(directory, folder))) return;
    // One by one: a recursive watcher on Linux loses a file that an editor saves by putting another in its place.
    const watcher = watch(join(directory, folder), (event, name) => {
      const path = name === null ? folder : `${folder}/${name}`;
      if (event === 'rename') watchFolder(path);
      note(path);
    });
    // A folder that goes away is seen from the one above it.
    watcher.on('error', () => watcher.close());
    watchers.set(folder, watcher);
    for (const entry of readdirSync(join(directory, folder))) watchFolder(`${folder}/${entry}`);
  }

  // A folder may be made later, or be put in another's place as a whole.
  const top = watch(directory, (event, name) => {
    if (event !== 'rename' || name === null || !folders.includes(name)) return;
    watchFolder(name);
    note(name);
  });
  for (const folder of folders) watchFolder(folder);

  return {
    next: () =>
      new Promise((resolve) => {
        waiting = resolve;
        deliver();
      }),
    close() {
      clearTimeout(timer);
      top.close();
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
