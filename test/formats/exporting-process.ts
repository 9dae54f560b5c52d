// A process of its own, so that nobody else's memory is measured: serves one list, and tells how much it holds.
import { defineEntity, p } from '@mikro-orm/core';
import { startApplication } from '../support/testing.ts';

const Row = defineEntity({
  name: 'Row',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read'),
    note: p.text().groups('read'),
  },
});

const app = await startApplication({
  app_main: { formats: ['json', 'ndjson', 'csv'], apis: { row: { class: Row, base_path: '/row', actions: { _index: null } } } },
  models: [Row],
  databaseUrl: process.argv[2] as string,
});
process.on('message', async (message) => {
  if (message === 'end') {
    await app.close();
    process.disconnect();
  } else process.send?.({ rss: process.memoryUsage().rss });
});
process.send?.({ url: app.url });
