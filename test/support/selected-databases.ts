/** The databases that the tests know. */
export const databaseKinds = ['sqlite', 'postgresql'] as const;

export type DatabaseKind = (typeof databaseKinds)[number];

/** The environment variable that leaves databases out: `none`, or `sqlite` for SQLite alone. */
export const databasesVariable = 'DECLAREST_TEST_DATABASES';

/** The databases that a run uses: all of them, unless the environment variable leaves some out. */
export function selectedDatabases(value: string | undefined = process.env[databasesVariable]): readonly DatabaseKind[] {
  switch (value) {
    case undefined:
    case '':
    case 'all':
      return databaseKinds;
    case 'sqlite':
      return ['sqlite'];
    case 'none':
      return [];
    default:
      throw new Error(`${databasesVariable} must be all, sqlite or none, not "${value}"`);
  }
}
