import { spawnSync } from 'node:child_process';

/**
 * Megabytes that V8 moves to the old generation while `work(i)` runs 100,000 times, in a process of its own. Work whose objects
 * die young moves nothing. `source` is a module that defines `work`.
 */
export function oldGarbage(source: string): number {
  const measured = `
    import { getHeapSpaceStatistics } from 'node:v8';
    ${source}
    const used = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space').space_used_size;
    for (let i = 0; i < 10000; i++) work(i);
    // moves what is reachable to the old generation, as a full collection under load does
    gc();
    const before = used();
    for (let i = 10000; i < 110000; i++) work(i);
    console.log((used() - before) / 1024 / 1024);
    process.exit();`;
  // a large old generation, so that no further full collection begins by itself
  const flags = ['--expose-gc', '--initial-old-space-size=1024', '--no-incremental-marking', '--input-type=module'];
  const { stderr, stdout } = spawnSync(process.execPath, [...flags, '--eval', measured], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  if (stdout === '') throw new Error(stderr);
  return Number(stdout);
}
