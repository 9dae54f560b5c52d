import { databaseKindOf, type Mapper } from '../database/mapper.ts';
import type { ApiDeclaration, ListDeclaration } from '../declaration/types.ts';
import type { TextMatching } from './filter-operator.ts';

/** Finds out how the database compares texts without regard to case. It is asked only where a list does so. */
export async function textMatching(mapper: Mapper, apis: readonly ApiDeclaration[]): Promise<TextMatching> {
  const database = databaseKindOf(mapper);
  const lists = apis.flatMap(({ actions, list }) => [list, ...actions.flatMap((action) => action.list ?? [])]);
  if (database === 'sqlite' || !lists.some(matchesText)) return { database, collation: '' };
  const [found] = await mapper.em
    .fork()
    .execute("select lower('Ä') = 'ä' as own, exists (select 1 from pg_collation where collname = 'und-x-icu') as icu");
  const { icu, own } = found as { icu: boolean; own: boolean };
  return { database, collation: own || !icu ? '' : ' collate "und-x-icu"' };
}

function matchesText({ filters, search }: ListDeclaration): boolean {
  const textual = ['contains', 'starts', 'ends'];
  return search !== null || filters.some(({ operators }) => operators.some((operator) => textual.includes(operator)));
}
