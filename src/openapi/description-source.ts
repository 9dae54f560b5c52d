import type { Described } from './schemas.ts';

/** An application that tells of itself. */
export interface DescriptionSource extends Described {
  readonly production: boolean;
}
