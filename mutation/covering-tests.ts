/** The test files for the changes of each file, below `test`. They are few, so that a change takes seconds. */
const covering: Readonly<Record<string, string>> = {
  'actions/admission.ts': 'actions/admission actions/overrides',
  'actions/after-commit.ts': 'actions/after-commit',
  'actions/aggregate.ts': 'spec/6-aggregates',
  'actions/bulk/bulk.ts': 'spec/14-bulk spec/14-bulk-groups',
  'actions/bulk/item-key.ts': 'actions/item-key',
  'actions/bulk/item-request.ts': 'spec/14-bulk spec/14-bulk-groups',
  'actions/change.ts': 'actions/admission actions/writing',
  'actions/create.ts': 'actions/writing spec/3-location spec/14-nested',
  'actions/dispatch.ts': 'actions/admission actions/attempts actions/writing',
  'actions/failure.ts': 'engine/failure',
  'actions/fetch.ts': 'actions/admission actions/respond',
  'actions/group-grants.ts': 'actions/group-grants',
  'actions/hooks.ts': 'actions/hooks',
  'actions/link.ts': 'actions/admission actions/writing',
  'actions/list.ts': 'actions/admission actions/respond',
  'actions/parameters.ts': 'actions/request-parameters',
  'actions/precondition.ts': 'actions/precondition',
  'actions/repeat.ts': 'actions/repeat actions/attempts',
  'actions/respond.ts': 'actions/respond',
  'actions/response-size.ts': 'actions/response-size',
  'actions/restriction.ts': 'actions/restriction',
  'actions/row-serializer.ts': 'spec/14-bulk-groups',
  'actions/tagged.ts': 'actions/tagged',
  'store/link-store.ts': 'store/link-store',
  'store/write-store.ts': 'store/write-store',
};

/** The same as paths from the folder of the repository. */
export const coveringTests: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(covering).map(([file, tests]) => [`src/${file}`, tests.split(' ').map((name) => `test/${name}.test.ts`)]),
);
