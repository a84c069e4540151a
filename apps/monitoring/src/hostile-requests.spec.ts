import { leaksOf, pastedKeyIn, pastedKeyRequests } from '@certwright/testing';
import fc from 'fast-check';
import { tbsSha256 } from './testing/fixtures';
import { addFinding } from './testing/findings';
import { keptDocument, permission, RunningApi, type Tenant } from './testing/running-api';

// Thousands of requests.
jest.setTimeout(300_000);

const root = '/api/v3/monitoring';

let api: RunningApi;
let tenant: Tenant;
let digest: string;

beforeAll(async () => {
  api = await RunningApi.start({ LOG_LEVEL: 'debug', FAILED_AUTHENTICATION_PER_MIN: '100000' });
  tenant = await api.tenant(permission);
  await tenant.post(`${root}/monitored_domains/www.example.com`, {});
  digest = await addFinding(api.database, tenant.accountId);
});
beforeEach(() => void (api.logged.length = 0));
afterAll(() => api.stop());

it('returns no 5xx for any name, with every method', async () => {
  const names = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1 }),
    fc.domain(),
    fc.stringMatching(/^[.*_%a-z0-9-]{1,30}\.(com|co\.uk|github\.io)\.?$/),
  );
  await fc.assert(
    fc.asyncProperty(names, async (name) => {
      const at = `${root}/monitored_domains/${encodeURIComponent(name.toWellFormed())}`;
      for (const method of ['POST', 'GET', 'DELETE']) {
        const { status } = await tenant.call(method, at, {});
        expect([200, 201, 204, 400, 404]).toContain(status);
      }
    }),
    { numRuns: 100 },
  );
});

it('returns no 5xx for any query', async () => {
  const values = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.domain(),
    fc.stringMatching(/^\d{1,18}-[0-9a-f]{64}$/),
  );
  const names = fc.constantFrom('after', 'limit', 'state', 'monitored_domain', 'expand');
  const queries = fc.array(fc.tuple(names, values), { maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(queries, async (query) => {
      const search = new URLSearchParams(
        query.map(([name, value]): [string, string] => [name, value.toWellFormed()]),
      ).toString();
      for (const list of ['certificates', 'endpoints', 'monitored_domains'])
        expect([200, 400]).toContain((await tenant.get(`${root}/${list}?${search}`)).status);
    }),
    { numRuns: 100 },
  );
});

it.each([
  'monitored_domains/example.com',
  'known_keys',
  'known_certs',
  'settings',
  'certificates/DIGEST',
  'endpoints/www.example.com',
])('returns no 5xx for any body of %s', async (resource) => {
  const bodies = fc.oneof(
    fc.json({ maxDepth: 6 }),
    fc.string(),
    fc
      .dictionary(
        fc.constantFrom(
          'name',
          'enabled',
          'pubkey_sha256',
          'dns_names',
          'tbs_sha256',
          'note',
          'mail',
          'heartbeat',
          'acknowledged',
          'muted',
          'ports',
          'authorize_key',
        ),
        fc.jsonValue(),
      )
      .map((value) => JSON.stringify(value)),
  );
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const { status } = await tenant.post(`${root}/${resource.replace('DIGEST', digest)}`, body);
      expect([200, 201, 400, 409]).toContain(status);
    }),
    { numRuns: 100 },
  );
});

it.each([
  ['a NUL in a note', 'known_certs', `{"tbs_sha256":"${tbsSha256}","note":"a\\u0000"}`],
  ['a lone surrogate in a note', 'known_certs', `{"tbs_sha256":"${tbsSha256}","note":"\\ud800"}`],
  ['a member __proto__', 'settings', '{"__proto__":{"heartbeat":"off"}}'],
  ['deep nesting', 'settings', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
])('returns 400 for %s', async (_what, resource, body) => {
  const answer = await tenant.post(`${root}/${resource}`, body);
  expect(answer.status).toBe(400);
  expect(answer.json.message).not.toMatch(/SQL|syntax|at .*\.ts|Error:/);
});

it.each([
  ['a NUL', '\0', 'a NUL character'],
  ['a lone surrogate', '\ud800', 'a lone surrogate, which is not a character'],
])('names the member that contains %s', async (_what, text, character) => {
  const answer = await tenant.post(`${root}/known_certs`, { tbs_sha256: tbsSha256, note: `a${text}` });
  expect([answer.status, answer.json]).toEqual([
    400,
    {
      code: 'bad_request',
      message: 'The request is not valid: see note.',
      sub_errors: [{ field: 'note', code: 'invalid_value', message: `note contains ${character}.` }],
    },
  ]);
});

it('a private key that was pasted anywhere is in no answer and in no line of the log', async () => {
  const requests = pastedKeyRequests(keptDocument, {
    path: { name: 'example.com', tbs_sha256: digest, dns_name: 'www.example.com' },
    bodies: {
      [`post ${root}/monitored_domains/{name}`]: { enabled: true },
      [`post ${root}/known_keys`]: { pubkey_sha256: tbsSha256, dns_names: ['example.com'] },
      [`post ${root}/known_certs`]: { tbs_sha256: tbsSha256 },
      [`post ${root}/certificates/{tbs_sha256}`]: { acknowledged: true, note: 'x' },
      [`post ${root}/endpoints/{dns_name}`]: { muted: true, ports: [443] },
      [`post ${root}/test`]: {},
      [`post ${root}/settings`]: { heartbeat: 'off' },
    },
  });
  const leaks = await leaksOf(requests, (each) => tenant.call(each.method, each.path, each), api.logged);
  expect(requests.length).toBeGreaterThan(500);
  expect(leaks).toEqual([]);
  const stored = await api.database.query(
    `SELECT json_agg(monitoring_change)::text AS all FROM monitoring_change`,
  );
  expect(pastedKeyIn(JSON.stringify(stored))).toBeNull();
});
