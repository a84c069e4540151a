import { CoreDatabaseFixture } from '@certwright/core-testing';
import { type IdempotentRequest, IdempotencyRecords, plainFingerprint } from './idempotency-records';

let core: CoreDatabaseFixture;
let records: IdempotencyRecords;
const request: IdempotentRequest = {
  accountId: '1',
  method: 'POST',
  path: '/orders',
  key: 'k',
  fingerprint: plainFingerprint('{"a":1}'),
};
const answer = { status: 201, headers: { location: '/orders/a' }, body: '{"name":"a"}' };

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  records = new IdempotencyRecords(core.database);
  await core.account('1');
  await core.account('2');
});
afterAll(async () => await core.close());
beforeEach(async () => await core.database.query('DELETE FROM idempotency_record'));

const carryOut = async (changes: Partial<IdempotentRequest> = {}) =>
  await core.transactions.run(async (tx) => {
    const own = { ...request, ...changes };
    const stored = await records.begin(tx, own);
    if (stored === null) await records.finish(tx, own, answer);
    return stored;
  });

describe('Idempotency-Key', () => {
  it('gives the stored answer the second time', async () => {
    expect(await carryOut()).toBeNull();
    expect(await carryOut()).toEqual(answer);
  });

  it.each([{ accountId: '2' }, { method: 'PUT' }, { path: '/orders/x' }, { key: 'other' }])(
    'is kept apart by %j',
    async (changes) => {
      await carryOut();
      expect(await carryOut(changes)).toBeNull();
    },
  );

  it('with another body is refused', async () => {
    await carryOut();
    const fingerprint = plainFingerprint('{"a":2}');
    await expect(carryOut({ fingerprint })).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });

  it('is refused while the first request still runs', async () => {
    await core.transactions.run(async (tx) => {
      expect(await records.begin(tx, request)).toBeNull();
      await expect(carryOut()).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
    });
  });

  it('leaves no trace of a request that failed', async () => {
    const failing = core.transactions.run(async (tx) => {
      await records.begin(tx, request);
      await records.finish(tx, request, answer);
      throw new Error('fails');
    });
    await expect(failing).rejects.toThrow('fails');
    expect(await carryOut()).toBeNull();
  });

  it('is forgotten after 24 h', async () => {
    await carryOut();
    await core.database.query(`UPDATE idempotency_record SET created_at = now() - interval '25 h'`);
    expect(await carryOut()).toBeNull();
    await core.database.query(`UPDATE idempotency_record SET created_at = now() - interval '25 h'`);
    expect(await records.forgetOld()).toBe(1);
  });
});
