import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type ApiDocument, pastedKeyIn, pastedKeyRequests } from '@certwright/testing';
import { RunningSearch } from './testing/running-search';

// Thousands of requests.
jest.setTimeout(300_000);

const document = JSON.parse(
  readFileSync(path.join(__dirname, '../openapi.json'), 'utf8'),
) as unknown as ApiDocument;
const requests = pastedKeyRequests(document);

let search: RunningSearch;
let key: { readonly authorization: string };

beforeAll(async () => {
  search = await RunningSearch.start({ LOG_LEVEL: 'debug', FAILED_AUTHENTICATION_PER_MIN: '100000' });
  key = await search.key('firehose');
});
afterAll(() => search.stop());

it('a private key that was pasted anywhere is in no response and no log line', async () => {
  const leaks: string[] = [];
  for (const { what, method, path: at, headers } of requests) {
    const { status, text, headers: returned } = await search.call(method, at, { ...key, ...headers });
    const piece = pastedKeyIn(text) ?? pastedKeyIn(JSON.stringify(returned));
    if (piece !== null || status >= 500) leaks.push(`${status} ${what}: ${text}`);
    if (search.logged.some((line) => pastedKeyIn(line) !== null)) leaks.push(`log: ${what}`);
    search.logged.length = 0;
  }
  expect(requests.length).toBeGreaterThan(300);
  expect(leaks).toEqual([]);
});
