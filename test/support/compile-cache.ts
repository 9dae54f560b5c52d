// Processes that tests start need not compile the same modules again and again. With `--coverage`, Vitest switches off the cache of
// Node in its own processes and in all that they start, because V8 cannot count code from it. It counts only Vitest's own.
import { join } from 'node:path';

delete process.env.NODE_DISABLE_COMPILE_CACHE;
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'declarest-compile');
