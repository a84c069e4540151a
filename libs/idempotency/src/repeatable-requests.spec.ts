import { CoreDatabaseFixture } from '@certwright/core-testing';
import { IdempotencyRecords, plainFingerprint } from './idempotency-records';
import { RepeatableRequests, type WriteRequest } from './repeatable-requests';

let core: CoreDatabaseFixture;
let requests: RepeatableRequests;
const write: WriteRequest = { accountId: '1', path: '/orders', key: 'k', body: '{"a":1}' };

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  requests = new RepeatableRequests(core.transactions, new IdempotencyRecords(core.database));
  await core.account('1');
});
afterAll(async () => await core.close());
beforeEach(async () => await core.database.query('DELETE FROM idempotency_record'));

let carriedOut = 0;
const work = async () => {
  carriedOut += 1;
  return { status: 201, headers: { location: `/orders/${carriedOut}` }, body: `{"n":${carriedOut}}` };
};

it('carries a request with a key out once, and says so in the answer of its repetition', async () => {
  const first = await requests.run(write, work);
  const again = await requests.run(write, work);
  expect(again).toEqual({ ...first, headers: { ...first.headers, 'idempotency-replayed': 'true' } });
});

it('carries a request without a key out every time', async () => {
  const anonymous = { ...write, key: null };
  expect(await requests.run(anonymous, work)).not.toEqual(await requests.run(anonymous, work));
});

it('keeps nothing of what failed', async () => {
  const failing = requests.run(write, async (tx) => {
    await tx.query(`UPDATE account SET name = 'changed' WHERE id = 1`);
    throw new Error('fails');
  });
  await expect(failing).rejects.toThrow('fails');
  expect(await core.database.query(`SELECT name FROM account WHERE id = 1`)).toEqual([{ name: 'Spec' }]);
  expect((await requests.run(write, work)).headers).not.toHaveProperty('idempotency-replayed');
});

it('keeps a secret in the form that its owner wants', async () => {
  const keeping = {
    fingerprintOf: plainFingerprint,
    keep: (body: string) => Buffer.from(body).toString('hex'),
    reveal: (kept: string) => Buffer.from(kept, 'hex').toString(),
  };
  const first = await requests.run(write, work, keeping);
  const [{ body }] = await core.database.query<[{ body: string }]>(`SELECT body FROM idempotency_record`);
  expect(body).toMatch(/^[0-9a-f]+$/);
  expect((await requests.run(write, work, keeping)).body).toBe(first.body);
});
