// What applications test with, and what tests of the framework itself see beyond that.
export {
  type RunningApplication as TestApplication,
  runApplication as startApplication,
} from '../../src/inspect/running-application.ts';
export * from '../../src/testing.ts';
