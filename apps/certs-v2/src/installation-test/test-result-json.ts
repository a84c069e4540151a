import type { InstallationAnswer } from '@certwright/jobs';

type Test = InstallationAnswer['tests'][number];

/** One result for each address: a host that leads to none has none, and a client sees that nothing could be resolved. */
export function testResultsJson(tests: readonly Test[]): object[] {
  return tests.filter(({ address }) => address !== '').map(testResultJson);
}

/** The test result object of the API. */
function testResultJson(test: Test): object {
  const { host: hostname, address: ip_address, status } = test;
  return test.status === 'conclusive'
    ? { hostname, ip_address, status, correct: test.correct, chained: test.chained, dummy: test.temporary }
    : { hostname, ip_address, status, error: test.problem };
}
