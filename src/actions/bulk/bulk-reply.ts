import type { ActiveGroups } from '../../model/groups.ts';
import { JsonReply } from '../../response/json-reply.ts';

/** The response to a list. Its hooks have run for each item. */
export class BulkReply extends JsonReply {
  /** The groups of each entity of the list; those of the request for others. */
  readonly groupsOf: ReadonlyMap<object, ActiveGroups>;

  constructor(value: unknown, status: number, groupsOf: ReadonlyMap<object, ActiveGroups> = new Map()) {
    super(value, { status });
    this.groupsOf = groupsOf;
  }
}
