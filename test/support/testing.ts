// The test helpers of applications, with more members for tests of the framework itself.
export {
  type RunningApplication as TestApplication,
  runApplication as startApplication,
} from '../../src/inspect/running-application.ts';
export * from '../../src/testing.ts';
