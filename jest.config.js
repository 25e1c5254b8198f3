/** One project per tier, so that `jest --selectProjects unit` needs no broker. */
const common = {
  testEnvironment: '<rootDir>/test/support/clean-environment.ts',
  // clients/node is written for Node's and browsers' own modules, whose imports name the file that
  // is built.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': ['@swc/jest', { jsc: { target: 'es2023', parser: { syntax: 'typescript' } } }],
  },
};

/** What starts processes: none of them outlives its test file. */
const withProcesses = { ...common, testEnvironment: '<rootDir>/test/support/environment.ts' };

module.exports = {
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/test/unit/**/*.test.ts'],
      globalSetup: '<rootDir>/test/support/empty-database.ts',
      setupFilesAfterEnv: ['<rootDir>/test/support/unit-timeout.ts'],
    },
    // clients/ and examples/ as their users have them: installed, built, in their own languages. No
    // broker.
    {
      ...withProcesses,
      displayName: 'libraries',
      testMatch: ['<rootDir>/test/libraries/**/*.test.ts'],
    },
    {
      ...withProcesses,
      displayName: 'integration',
      testMatch: ['<rootDir>/test/integration/**/*.test.ts'],
      globalSetup: '<rootDir>/test/support/global-setup.ts',
      globalTeardown: '<rootDir>/test/support/global-teardown.ts',
    },
    {
      ...withProcesses,
      displayName: 'e2e',
      testMatch: ['<rootDir>/test/e2e/**/*.test.ts'],
      // They take many minutes: a workflow asks for each.
      testPathIgnorePatterns: [
        ...(process.env.SUPPORT_SHEET ? [] : ['/support-sheet\\.test\\.ts$']),
        ...(process.env.CONSOLE_SCALE ? [] : ['/console-scale\\.test\\.ts$']),
      ],
      globalSetup: '<rootDir>/test/support/global-setup.ts',
      globalTeardown: '<rootDir>/test/support/global-teardown.ts',
    },
  ],
  // A busy machine of two cores has time to start processes. Jest ignores a timeout of a project:
  // unit-timeout.ts sets theirs.
  testTimeout: 240_000,
  // For two cores. Those with processes wait rather than compute: each keeps half a core busy.
  maxWorkers: 4,
  // Concurrent tests wait for a delivery that comes back, each for its own, or for each other
  // (test/support/shared-steps.ts).
  maxConcurrency: 12,
  // A worker that has run a hundred files is ten times slower at what makes many promises: start
  // another instead.
  workerIdleMemoryLimit: '600MB',
  testSequencer: '<rootDir>/test/support/sequencer.js',
};
