import { CoreDatabaseFixture } from '@certwright/core-testing';
import { type Reservation, ReservedRequests } from './reserved-requests';

let core: CoreDatabaseFixture;
let requests: ReservedRequests;
beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  requests = new ReservedRequests(core.database);
  for (const account of ['1', '2']) await core.account(account);
});
afterAll(async () => await core.close());
beforeEach(async () => await core.database.query('DELETE FROM idempotency_record'));

const answer = { status: 201, headers: { location: '/a' }, body: '{"id":1}' };
const reservedMs = 60_000;

const reserve = async (body = 'body', { accountId = '1', key = 'k' } = {}) =>
  await requests.reserve(
    {
      accountId,
      method: 'POST',
      path: '/p',
      key,
      fingerprint: { kept: Buffer.from(body), matches: (kept) => kept.equals(Buffer.from(body)) },
    },
    reservedMs,
  );
const carryOut = async (body?: string): Promise<Reservation> => {
  const found = await reserve(body);
  if ('answer' in found) throw new Error('it is answered already');
  return found.reservation;
};
const settle = async (reservation: Reservation) =>
  await core.transactions.run(async (tx) => await requests.settle(tx, reservation, answer));
const older = async (interval: string) =>
  await core.database.query(`UPDATE idempotency_record SET created_at = created_at - $1::interval`, [
    interval,
  ]);

it('lets one of many with the same key carry it out', async () => {
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, () => reserve().catch((error: unknown) => error)),
  );
  const refused = outcomes.filter((each) => each instanceof Error);
  expect(refused).toHaveLength(7);
  expect(refused[0]).toMatchObject({ code: 'idempotency_key_in_use', retryAfterS: 1 });
});

it('gives the stored answer from then on, and refuses another body before and after', async () => {
  const reservation = await carryOut();
  await expect(reserve('other')).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  await settle(reservation);
  expect(await reserve()).toEqual({ answer });
  await expect(reserve('other')).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  expect(await reserve('body', { accountId: '2' })).toHaveProperty('reservation');
  expect(await reserve('body', { key: 'k2' })).toHaveProperty('reservation');
});

it('is free again when it was given up', async () => {
  await requests.giveUp(await carryOut());
  await carryOut('another body');
});

it('is free again after its time, when a crash left it; who comes back too late stores nothing', async () => {
  const crashed = await carryOut();
  await older('59 s');
  await expect(reserve()).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
  await older('2 s');
  const taken = await carryOut();
  await expect(settle(crashed)).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
  await requests.giveUp(crashed);
  await settle(taken);
  expect(await reserve()).toEqual({ answer });
  // Giving up a settled request has no effect.
  await requests.giveUp(taken);
  expect(await reserve()).toEqual({ answer });
});

it('stores nothing when the transaction of the work fails', async () => {
  const reservation = await carryOut();
  const failing = core.transactions.run(async (tx) => {
    await requests.settle(tx, reservation, answer);
    throw new Error('fails');
  });
  await expect(failing).rejects.toThrow('fails');
  await expect(reserve()).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
});

it('is forgotten after 24 h', async () => {
  await settle(await carryOut());
  await older('25 h');
  await carryOut('another body');
});
