import { type FSWatcher, lstatSync, readdirSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';

const folders = ['config', 'migrations', 'src'];

/** Milliseconds without a change after which an edit is complete. */
const quiet = 100;

/** Hidden files, temporary files of editors, and installed packages. */
const ignored = /(^|\/)(\.[^/]*|node_modules|4913)(\/|$)|~$/;

/** Watches the files of an application. */
export function watchApplication(directory: string) {
  const watchers = new Map<string, FSWatcher>();
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let waiting: ((files: readonly string[]) => void) | undefined;

  function deliver(): void {
    if (!waiting || timer || changed.size === 0) return;
    const files = [...changed].sort();
    changed.clear();
    waiting(files);
    waiting = undefined;
  }

  function note(file: string): void {
    if (ignored.test(file)) return;
    changed.add(file);
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = undefined;
      deliver();
    }, quiet);
  }

  /** Watches a folder and everything below it, and closes earlier watchers there. */
  function watchFolder(folder: string): void {
    for (const [path, watcher] of watchers) {
      if (path !== folder && !path.startsWith(`${folder}/`)) continue;
      watcher.close();
      watchers.delete(path);
    }
    const path = join(directory, folder);
    if (ignored.test(folder) || !isFolder(path, folders.includes(folder))) return;
    try {
      // One watcher per folder: a recursive watcher on Linux loses files that an editor saves by renaming another.
      const watcher = watch(path, (event, name) => {
        const changed = name === null ? folder : `${folder}/${name}`;
        if (event === 'rename') watchFolder(changed);
        note(changed);
      });
      watcher.on('error', () => watcher.close());
      watchers.set(folder, watcher);
      for (const entry of readdirSync(path)) watchFolder(`${folder}/${entry}`);
    } catch (error) {
      // The watcher of the parent folder reports a folder that was just removed.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  // A folder may be created later, or replaced as a whole.
  const top = watch(directory, (event, name) => {
    if (event !== 'rename' || name === null || !folders.includes(name)) return;
    watchFolder(name);
    note(name);
  });
  for (const folder of folders) watchFolder(folder);

  return {
    /** Resolves with the changed files, relative to the application, once nothing has changed for a moment. */
    next: () =>
      new Promise<readonly string[]>((resolve) => {
        waiting = resolve;
        deliver();
      }),
    close(): void {
      clearTimeout(timer);
      top.close();
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}

/** Links to folders are followed on the first level only: deeper ones may form a loop. */
function isFolder(path: string, follow: boolean): boolean {
  return (follow ? statSync : lstatSync)(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
