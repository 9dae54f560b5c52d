import type { Collection, EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';
import { entityKey } from '../../model/identifier.ts';
import { hasOneOf } from '../../model/key-condition.ts';
import { keyOrder } from './keys.ts';

/** Items whose order is read at once, as far as they are in different lists. */
const stepSize = 5000;

/** Sorts the items of lists as the model declares. The database compares their columns, as it does when it reads the lists. */
export async function sortAsDeclared(
  em: RequestEntityManager,
  { orderBy, targetMeta }: EntityProperty,
  lists: readonly Collection<object>[],
): Promise<void> {
  for (const some of stepsOf(lists)) {
    const meta = em.getMetadata().get((targetMeta as EntityMetadata).class as never) as EntityMetadata;
    const keys = new Map(some.flatMap((list) => list.getItems(false)).map((item) => [String(entityKey(item)), entityKey(item)]));
    const where = { $and: [hasOneOf(meta, em.getPlatform(), [...keys.values()])] };
    const order = [...[orderBy ?? []].flat(), keyOrder(meta)];
    const options = { fields: meta.primaryKeys, orderBy: order, filters: false, disableIdentityMap: true };
    const rows = (await em.find(meta.class, where as never, options as never)) as object[];
    const places = new Map(rows.map((row, place) => [String(entityKey(row)), place]));
    const placeOf = (item: object) => places.get(String(entityKey(item))) ?? rows.length;
    for (const list of some) list.hydrate(list.getItems(false).toSorted((a, b) => placeOf(a) - placeOf(b)));
  }
}

function* stepsOf(lists: readonly Collection<object>[]): Generator<readonly Collection<object>[]> {
  let step: Collection<object>[] = [];
  let items = 0;
  for (const list of lists) {
    if (step.length > 0 && items + list.length > stepSize) {
      yield step;
      step = [];
      items = 0;
    }
    step.push(list);
    items += list.length;
  }
  if (step.length > 0) yield step;
}
