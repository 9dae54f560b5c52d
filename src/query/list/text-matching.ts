import type { Mapper } from '../../database/mapper.ts';
import { operatorTraits } from '../../declaration/filter-operators.ts';
import type { ApiDeclaration, ListDeclaration } from '../../declaration/types.ts';
import { dialectOf } from '../../dialect/dialect.ts';
import type { TextMatching } from './filter-operator.ts';

/** Finds out how the database compares text ignoring case. It is queried only if a list needs that. */
export async function textMatching(mapper: Mapper, apis: readonly ApiDeclaration[]): Promise<TextMatching> {
  const dialect = dialectOf(mapper);
  const lists = apis.flatMap(({ actions, list }) => [list, ...actions.flatMap((action) => action.list ?? [])]);
  const collation = lists.some(matchesText) ? await dialect.schema.collation(mapper.em.fork()) : '';
  return { dialect, collation };
}

function matchesText({ filters, search }: ListDeclaration): boolean {
  const operators = filters.flatMap((filter) => filter.operators);
  return search !== null || operators.some((operator) => operatorTraits[operator].operand === 'text');
}
