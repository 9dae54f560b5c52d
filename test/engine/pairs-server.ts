// A server process of its own: `node test/engine/pairs-server.ts <database url>`. It ends when its standard input does.
import { startApplication } from '../support/testing.ts';
import { pairOptions } from './pairs-app.ts';

const { url, close } = await startApplication(pairOptions(process.argv[2] as string));
process.stdout.write(`listening on ${url}\n`);
process.stdin.resume().on('end', async () => {
  await close();
  process.exit(0);
});
