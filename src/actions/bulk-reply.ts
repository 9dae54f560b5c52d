import { JsonReply } from '../response/json-reply.ts';

/** The response to a list. Its hooks have run for each item. */
export class BulkReply extends JsonReply {}
