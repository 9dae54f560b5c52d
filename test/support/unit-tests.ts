/** Folders and files whose tests open no database, apart from those in {@link notUnitTests}. */
const places = [
  'test/access',
  'test/chaos/serial-order.test.ts',
  'test/database',
  'test/declaration',
  'test/model',
  'test/response',
  'test/route',
  'test/scripts',
  'test/serialization',
  'test/dialect/errors.test.ts',
  'test/docs/errors.test.ts',
  'test/docs/configuration.test.ts',
  'test/docs/controllers.test.ts',
  'test/docs/pages.test.ts',
  'test/docs/security.test.ts',
  'test/docs/spec-map.test.ts',
  'test/house.test.ts',
  'test/inspect/compare.test.ts',
  'test/inspect/matrix.test.ts',
  'test/inspect/suite-parts.test.ts',
  'test/support/divide-tests.test.ts',
  'test/support/documents/document-judge.test.ts',
  'test/support/selected-databases.test.ts',
  'test/telemetry/query-text.test.ts',
];

/** The tests that `npm run test:unit` runs. */
export const unitTests: readonly string[] = places.map((place) => (place.endsWith('.ts') ? place : `${place}/**/*.test.ts`));

/** Tests in folders of unit tests that open a database, or run the TypeScript compiler. */
export const notUnitTests: readonly string[] = [
  'test/database/address.test.ts',
  'test/database/column-fit.test.ts',
  'test/database/migrations/kinds.test.ts',
  'test/database/migrations/random-changes.test.ts',
  'test/database/migrations/rebuilds.test.ts',
  'test/database/parent-classes.test.ts',
  'test/database/schema-changes.test.ts',
  'test/declaration/define-apis.test.ts',
  'test/declaration/type-cost.test.ts',
  'test/serialization/long-body.test.ts',
  'test/serialization/single-precision.test.ts',
];
