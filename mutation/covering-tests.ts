/** The test files for the changes of each file, below `test`. They are few, so that a change takes seconds. */
const covering: Readonly<Record<string, string>> = {
  'actions/admission.ts': 'actions/admit actions/overrides',
  'actions/after-commit.ts': 'actions/after-commit',
  'actions/aggregate.ts': 'actions/aggregate',
  'actions/bulk/bulk.ts': 'spec/14-bulk spec/14-bulk-groups',
  'actions/bulk/item-key.ts': 'actions/item-key',
  'actions/bulk/item-request.ts': 'actions/item-request',
  'actions/change.ts': 'actions/create',
  'actions/create.ts': 'actions/create',
  'actions/dispatch.ts': 'actions/dispatch actions/attempts',
  'actions/export/export-places.ts': 'actions/export-places',
  'actions/failure.ts': 'engine/failure',
  'actions/fetch.ts': 'actions/fetch actions/restriction',
  'actions/group-grants.ts': 'actions/group-grants',
  'actions/hooks.ts': 'actions/hook-needs',
  'actions/idempotency/byte-budget.ts': 'actions/idempotency',
  'actions/idempotency/idempotency-key.ts': 'actions/idempotency',
  'actions/idempotency/keyed-mutex.ts': 'actions/idempotency',
  'actions/link.ts': 'actions/admission actions/writing',
  'actions/list.ts': 'actions/list actions/restriction',
  'actions/parameters.ts': 'actions/request-parameters',
  'actions/precondition.ts': 'actions/precondition',
  'actions/repeat.ts': 'actions/repeat actions/attempts',
  'actions/respond.ts': 'actions/answer actions/respond actions/dispatch',
  'actions/response-size.ts': 'actions/response-size',
  'actions/restriction.ts': 'actions/restriction',
  'actions/row-serializer.ts': 'actions/row-serializer',
  'actions/tagged.ts': 'actions/tagged',
  'store/link-store.ts': 'store/link-store',
  'store/request-state.ts': 'store/request-state',
  'store/transaction.ts': 'store/request-state',
  'store/write-store.ts': 'store/write-store',
};

/** The same as paths from the folder of the repository. */
export const coveringTests: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(covering).map(([file, tests]) => [`src/${file}`, tests.split(' ').map((name) => `test/${name}.test.ts`)]),
);
