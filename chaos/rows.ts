import type { Row } from './row.ts';
import { concurrencyRows } from './rows/concurrency.ts';
import { durabilityRows } from './rows/durability.ts';
import { expenseRows } from './rows/expense.ts';
import { historyRows } from './rows/histories.ts';
import { idempotencyRows } from './rows/idempotency.ts';
import { lifecycleRows } from './rows/lifecycle.ts';
import { loadRows } from './rows/load.ts';
import { migrationRows } from './rows/migrations.ts';

/** All fault tests, in this order. */
export const rows: readonly Row[] = [
  ...lifecycleRows,
  ...loadRows,
  ...expenseRows,
  ...durabilityRows,
  ...migrationRows,
  ...concurrencyRows,
  ...idempotencyRows,
  ...historyRows,
];
