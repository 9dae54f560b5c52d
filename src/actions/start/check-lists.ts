import type { EntityMetadata } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import type { ApiDeclaration, Path } from '../../declaration/types.ts';
import { dialectOf } from '../../dialect/dialect.ts';
import { planFields } from '../../model/field-plan.ts';
import { groupNames, groupsOfApi } from '../../model/groups.ts';
import { sameLine } from '../../model/hierarchy.ts';
import { AggregateReader } from '../../query/aggregate/aggregate-reader.ts';
import type { IsHiding } from '../../query/list/filter-path.ts';
import { ListQueryReader, type Trouble } from '../../query/list/list-query.ts';
import { isControllerClass, restrictsQueries } from '../controller/controller-class.ts';
import { checkAggregates } from './check-aggregates.ts';

interface Findings {
  add(path: Path, message: string, of?: 'key'): void;
  warn(path: Path, message: string): void;
  /** Whether something at the path was reported before. */
  touches(path: Path): boolean;
}

/** Reports filters, sorts and searches of fields that callers cannot read, or that make no sense. */
export function checkLists(apis: readonly ApiDeclaration[], mapper: Mapper, findings: Findings): void {
  const isHiding = hidingClasses(apis, mapper);
  const matching = { dialect: dialectOf(mapper), collation: '' };
  for (const api of apis) {
    const meta = mapper.getMetadata().find(api.class.value as never) as EntityMetadata | undefined;
    if (!meta || findings.touches([...api.path, 'class'])) continue;
    const reported = new Set<string>();
    // settings of an API for lists apply to actions with other groups
    for (const { groups, list } of [{ list: api.list, groups: groupsOfApi(api) }, ...api.actions]) {
      if (!list) continue;
      const names = groupNames(groups.read);
      const model = { mapper, meta, plan: planFields(mapper, meta, names), groups: names, isHiding, matching };
      const trouble: Trouble = (path, message, of) => {
        // settings that actions inherit from their API are reported once
        if (reported.has(path.join('\n'))) return;
        reported.add(path.join('\n'));
        findings.add(path, message, of);
      };
      new ListQueryReader(model, list, api.pagination, trouble);
      if (list.aggregate) new AggregateReader(model, list.aggregate, list, trouble);
    }
    checkAggregates(api, findings);
    const lists = new Map([api, ...api.actions].flatMap(({ list }) => (list ? [[list.defaultSort, list.defaultSortPath]] : [])));
    for (const [defaultSort, at] of lists) {
      for (const [position, { property }] of defaultSort.entries()) {
        const hidden = classesOn(property, meta).find(isHiding);
        if (!hidden) continue;
        findings.warn(
          [...at, position],
          `"default_sort" by "${property}" can reveal hidden values: an API hides rows of ${hidden.className} from some callers, and the order depends on them; sort by a property of ${meta.className} itself`,
        );
      }
    }
  }
}

/** The associated classes on a path of properties. */
function classesOn(path: string, meta: EntityMetadata): EntityMetadata[] {
  const [name = '', ...rest] = path.split('.');
  const target = meta.properties[name as never]?.targetMeta;
  return target ? [target, ...classesOn(rest.join('.'), target)] : [];
}

/** Finds the classes of which an API hides rows from some callers. */
export function hidingClasses(apis: readonly ApiDeclaration[], mapper: Mapper): IsHiding {
  const hiding = apis.filter(
    ({ controller }) => controller && isControllerClass(controller.value) && restrictsQueries(controller.value),
  );
  const metas = hiding.flatMap(({ class: model }) => mapper.getMetadata().find(model.value as never) ?? []) as EntityMetadata[];
  return (meta) => metas.some((other) => sameLine(meta, other));
}
