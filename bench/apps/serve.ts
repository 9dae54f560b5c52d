// Serves an application with one kind of reads. `declarest serve` has no such option: node serve.ts DIRECTORY PORT READS
import { createServer } from 'declarest';

const [directory = '.', port, reads] = process.argv.slice(2);
const app = await createServer({ directory, compiledReads: reads === 'compiled' } as { directory: string });
await app.listen({ host: '127.0.0.1', port: Number(port) });
process.once('SIGTERM', () => app.close());
