import { leaksOf, pastedKeyRequests } from '@certwright/testing';
import { keptDocument, RunningSearch } from './testing/running-search';

// Thousands of requests.
jest.setTimeout(300_000);

const requests = pastedKeyRequests(keptDocument);

let search: RunningSearch;
let key: { readonly authorization: string };

beforeAll(async () => {
  search = await RunningSearch.start({ LOG_LEVEL: 'debug', FAILED_AUTHENTICATION_PER_MIN: '100000' });
  key = await search.key('firehose');
});
afterAll(() => search.stop());

it('a private key that was pasted anywhere is in no response and no log line', async () => {
  const leaks = await leaksOf(
    requests,
    ({ method, path: at, headers }) => search.call(method, at, { ...key, ...headers }),
    search.logged,
  );
  expect(requests.length).toBeGreaterThan(300);
  expect(leaks).toEqual([]);
});
