import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { makeTemporary } from '../support/temporary.ts';
import { startApplication } from '../support/testing.ts';
import { blocksOf, readPage } from './markdown.ts';

const page = 'docs/how-to/bulk-writes.md';

test('the requests of docs/how-to/bulk-writes.md get the responses that it shows', async () => {
  const { directory, remove } = makeTemporary('docs-bulk-writes');
  for (const { marks, text } of blocksOf(page)) {
    if (!marks.file) continue;
    mkdirSync(dirname(join(directory, marks.file)), { recursive: true });
    writeFileSync(join(directory, marks.file), text);
  }
  const app = await startApplication({ directory, databaseUrl: 'sqlite::memory:' });
  const exchanges = readPage(page).matchAll(/```http\n(\w+) (\S+)\n[^[{]*([\s\S]*?)```(?:[^`]*```json\n([\s\S]*?)```)?/g);
  const statuses: number[] = [];
  for (const [, method, path, body, shown] of exchanges) {
    const response = await app.request(method as string, path as string, { json: JSON.parse(body as string) });
    statuses.push(response.status);
    if (shown) expect(response.json).toMatchObject(JSON.parse(shown));
  }
  expect(statuses).toEqual([201, 200, 204, 422, 404, 201]);
  await app.close();
  remove();
});
