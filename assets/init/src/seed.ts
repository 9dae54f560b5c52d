import type { EntityManager } from '@mikro-orm/core';
import { SampleItem } from './models/sample-item.ts';

/** Fills a new database outside of production. The sample users are in config/app.yaml. */
export default async function seed(em: EntityManager): Promise<void> {
  if (process.env.NODE_ENV === 'production') return;
  em.create(SampleItem, { title: 'First' });
  em.create(SampleItem, { title: 'Second' });
  em.create(SampleItem, { title: 'Archived', archived: true });
}
