// @ts-check
// Writes what a run amounted to where run.mjs finds it; the usual reporter speaks to people.
const { writeFileSync } = require('node:fs');

module.exports = class CountReporter {
  /**
   * A spec file that could not be loaded has no tests to count; it is one failure of its own.
   * @param {unknown} _contexts
   * @param {{ numPassedTests: number, numFailedTests: number, numRuntimeErrorTestSuites: number, wasInterrupted: boolean,
   *   testResults: readonly { testFilePath: string, numFailingTests: number, testExecError?: unknown }[] }} results
   */
  onRunComplete(_contexts, results) {
    const file = process.env.CERTWRIGHT_TEST_COUNTS;
    if (!file) return;
    const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, wasInterrupted, testResults } =
      results;
    const passed = testResults.filter(
      ({ numFailingTests, testExecError }) => !numFailingTests && !testExecError,
    );
    const counts = {
      passed: numPassedTests,
      failed: numFailedTests + numRuntimeErrorTestSuites,
      wasInterrupted,
      passedFiles: passed.map(({ testFilePath }) => testFilePath),
    };
    writeFileSync(file, JSON.stringify(counts));
  }
};
