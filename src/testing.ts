import type { ApplicationOptions } from './application.ts';
import { runApplication, type TestApplication } from './inspect/running-application.ts';

export type {
  CallStep,
  CastVote,
  CheckStep,
  Explanation,
  Reason,
  RoleCheck,
  StatementStep,
  Step,
} from './inspect/explanation.ts';
export type { TestApplication, TestExplainRequest } from './inspect/running-application.ts';
export { type AccessSuiteOptions, accessSuite, type SuiteDatabase } from './inspect/suite/access-suite.ts';
export type { TestRequest, TestResponse, TestUser } from './inspect/suite/test-client.ts';

/** Starts an application on a free port of the loopback interface. */
export async function startApplication(options: ApplicationOptions): Promise<TestApplication> {
  const { application: _, ...running } = await runApplication(options);
  return running;
}
