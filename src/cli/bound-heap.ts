import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import type { Mapper } from '../database/mapper.ts';
import { dialectOf } from '../dialect/dialect.ts';

/** Bytes of the space for what was made lately, both halves of it, from which on it is not to grow. */
const enoughNewSpace = 33_554_432;

/** Milliseconds between two looks at it. */
const beat = 1000;

/**
 * Keeps the heap to what it needs: V8 by itself takes as much as there is for the asking on a machine with much memory, and grows
 * for long. Garbage is collected once there is half as much of it as of what is in use. And on SQLite, where few requests are under way at once
 * and next to nothing outlives them, the space for what was made lately has one size, which V8 can be told at its own start only.
 * On PostgreSQL a larger one makes requests cheaper by a twentieth.
 */
export function boundHeap(mapper: Mapper): void {
  setFlagsFromString('--heap-growing-percent=50');
  if (dialectOf(mapper).connections.inProcess) boundNewSpace();
}

/** V8 makes it smaller when there is little to do, so it must be able to grow again. */
function boundNewSpace(): void {
  let mayGrow = true;
  const look = () => {
    const size = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;
    if (mayGrow === size < enoughNewSpace) return;
    mayGrow = !mayGrow;
    setFlagsFromString(`--semi-space-growth-factor=${mayGrow ? 2 : 1}`);
  };
  setInterval(look, beat).unref();
}
