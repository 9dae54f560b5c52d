import { type EntityManager, type EntityMetadata, helper } from '@mikro-orm/core';
import type { TestApplication } from '../support/testing.ts';
import { className, type RowData, rowsOf, type Universe } from './random-model.ts';

/** Writes the rows of a universe, and of the links between them those at both ends of which a row is wanted. */
export async function fill(
  em: EntityManager,
  application: TestApplication,
  made: Universe,
  isLinked: (row: RowData) => boolean = () => true,
): Promise<void> {
  const { rows, links } = rowsOf(made);
  const metas = [...application.application.mapper.getMetadata().getAll().values()] as EntityMetadata[];
  const metaOf = (index: number) => metas.find(({ className: name }) => name === className(index)) as EntityMetadata;
  const entities = new Map(
    rows.map((row) => [
      row,
      em.create(metaOf(row.model).class as never, { id: row.id, ...row.values } as never) as Record<string, never>,
    ]),
  );
  for (const entity of entities.values()) em.persist(entity as object);
  await em.flush();
  for (const { many, name, row, targets } of links) {
    if (!isLinked(row)) continue;
    const entity = entities.get(row) as Record<string, unknown>;
    const found = targets.filter(isLinked).map((target) => entities.get(target) as object);
    if (many) (entity[name] as { add(items: object[]): void }).add(found);
    else if (found[0]) helper(entity).assign({ [name]: found[0] } as never, { em });
  }
  await em.flush();
}
