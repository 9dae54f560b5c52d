import type { ApiRequest } from '../access/user.ts';
import type { Violation } from '../errors.ts';
import type { AnyQueryBuilder } from '../query/restriction.ts';
import { JsonReply } from '../response/json-reply.ts';

/** What an application's controller can hook into, in calling order. A hook that returns a reply ends the request with it. */
export interface ControllerHooks {
  customizeQuery(action: string, request: ApiRequest, query: AnyQueryBuilder): unknown;
  onPostFetchEntity(action: string, request: ApiRequest, fetched: unknown): unknown;
  onPostCheckAccess(action: string, request: ApiRequest, subject: unknown): unknown;
  validate(entity: object): Violation[] | Promise<Violation[]>;
  onAfterValidation(action: string, request: ApiRequest, entity: object): unknown;
  onAfterFlush(action: string, request: ApiRequest, entity: object): unknown;
  onBeforeSerialize(action: string, request: ApiRequest, value: unknown): unknown;
}

/** Thrown to leave an action with the reply that a hook gave. */
export class EarlyReply {
  readonly reply: JsonReply;

  constructor(reply: JsonReply) {
    this.reply = reply;
  }
}

/** Waits for a hook, and leaves the action if it gave a reply. */
export async function heed(answer: unknown): Promise<void> {
  const given = await answer;
  if (given instanceof JsonReply) throw new EarlyReply(given);
}
