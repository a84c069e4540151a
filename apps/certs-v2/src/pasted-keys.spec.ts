import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type ApiDocument, pastedKeyIn, pastedKeyRequests } from '@certwright/testing';
import { certificateRequest, keyPair } from './testing/certificate-request';
import { RunningApi, type Tenant } from './testing/running-api';

// Thousands of requests.
jest.setTimeout(300_000);

const document = JSON.parse(
  readFileSync(path.join(__dirname, '../openapi.json'), 'utf8'),
) as unknown as ApiDocument;
const csr = certificateRequest(keyPair('p256'), { CN: 'example.com' });
const object = { csr, approval_method: 'dns' };
const requests = pastedKeyRequests(document, {
  path: { CN: 'example.com', type: 'dv' },
  bodies: { 'post /certs/{CN}': object },
});

let api: RunningApi;
let tenant: Tenant;

beforeAll(async () => {
  api = await RunningApi.start({ LOG_LEVEL: 'debug', FAILED_AUTHENTICATION_PER_MIN: '100000' });
  tenant = await api.tenant('Full Access');
  await tenant.post('/api/v2/certs/example.com', object);
});
afterAll(() => api.stop());

it('a private key that was pasted anywhere is in no response and in no line of the log', async () => {
  const leaks: string[] = [];
  for (const { what, method, path: at, body, headers } of requests) {
    const { status, text, headers: response } = await tenant.call(method, at, { body, headers });
    const piece = pastedKeyIn(text) ?? pastedKeyIn(JSON.stringify(response));
    if (piece !== null || status >= 500) leaks.push(`${status} ${what}: ${text}`);
    if (api.logged.some((line) => pastedKeyIn(line) !== null)) leaks.push(`log: ${what}`);
    api.logged.length = 0;
  }
  expect(requests.length).toBeGreaterThan(1_000);
  expect(leaks).toEqual([]);
});
