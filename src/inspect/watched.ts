import type { Application } from '../application.ts';
import type { RouteRecord } from '../route/record.ts';
import type { Received } from './exchange.ts';
import type { Caller, ExplainedDatabase } from './explanation.ts';
import type { Recording } from './recorder.ts';

/** Everything that is known of a request that was watched. */
export interface Watched {
  readonly application: Application;
  readonly database: ExplainedDatabase;
  readonly recording: Recording;
  readonly needsEntity: (record: RouteRecord) => string | null | undefined;
  readonly answer: Received;
  readonly asked: {
    readonly method: string;
    readonly path: string;
    readonly hasBody: boolean;
    readonly by: Caller['by'];
  };
}
