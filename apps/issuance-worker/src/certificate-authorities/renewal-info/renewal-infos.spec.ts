import { attachOpen, validity } from '@certwright/core-testing';
import { caAccount } from '../../testing/ca-accounts';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { eventually } from '@certwright/testing';
import { RenewalInfos } from './renewal-infos';

const accountId = '1000000000001';
const authority = 'public-ca';
const dnsNames = ['a.example.com'];

let core: CoreDatabaseFixture;
let infos: RenewalInfos;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  infos = new RenewalInfos(core.database);
  await core.account(accountId);
  await caAccount(core, authority);
});
afterAll(async () => await core.close());
beforeEach(async () => await core.database.query(`DELETE FROM renewal_info`));

async function attached(ariId = 'aki.serial') {
  const { planId, termsId } = await core.plan(accountId, dnsNames);
  const opening = { planId, accountId, termsId, revision: 1, dnsNames, settlingMs: 0 };
  await core.transactions.run(async (tx) => await core.issuances.open(tx, opening));
  return await attachOpen(core, planId, validity(-1, 89), { renewalInfo: { authority, ariId } });
}

async function renewAt(planId: string): Promise<Date | null> {
  const [row] = await core.database.query<[{ renew_at: Date | null }]>(
    `SELECT renew_at FROM plan WHERE id = $1`,
    [planId],
  );
  return row.renew_at;
}

/** Until a statement waits for a lock. */
async function waiting(): Promise<void> {
  const statement = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await eventually(async () => expect(await core.database.query(statement)).toHaveLength(1));
}

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);

it('is fetched at once for an attached certificate, by one worker', async () => {
  const { certificateId, planId } = await attached();
  const rounds = await Promise.all([infos.take(10, 60_000), infos.take(10, 60_000)]);
  const validity = { notBefore: expect.any(Date), notAfter: expect.any(Date) };
  const first = { windowStart: null, windowEnd: null, failures: 0, replacedEarly: false, ...validity };
  expect(rounds.flat()).toEqual([
    { certificateId, planId, authority, ariId: 'aki.serial', ...first, now: expect.any(Date) },
  ]);
});

it('is claimed for each CA up to the limit, except for the given ones', async () => {
  await caAccount(core, 'other-ca');
  const all = [await attached('a.1'), await attached('a.2'), await attached('a.3')];
  await core.database.query(`UPDATE renewal_info SET authority = 'other-ca' WHERE certificate_id = $1`, [
    all[2]?.certificateId,
  ]);
  const ofOther = await infos.take(1, 60_000, [authority]);
  expect(ofOther.map(({ ariId }) => ariId)).toEqual(['a.3']);
  await core.database.query(`UPDATE renewal_info SET due_at = now()`);
  const each = await infos.take(1, 60_000);
  expect(each.map((info) => info.authority).sort()).toEqual(['other-ca', authority]);
});

it('is absent for a certificate whose CA has none', async () => {
  const { planId, termsId } = await core.plan(accountId, dnsNames);
  const opening = { planId, accountId, termsId, revision: 1, dnsNames, settlingMs: 0 };
  await core.transactions.run(async (tx) => await core.issuances.open(tx, opening));
  await attachOpen(core, planId, validity(-1, 89));
  expect(await infos.take(10, 60_000)).toEqual([]);
});

it('sets when the plan is renewed, while the certificate is the current one', async () => {
  const { certificateId, planId } = await attached();
  const received = { windowStart: inDays(50), windowEnd: inDays(52), explanationUrl: null, dueAt: inDays(0) };
  await infos.received(certificateId, { ...received, renewAt: inDays(51) });
  const chosen = await renewAt(planId);
  expect(chosen?.getTime()).toBeCloseTo(inDays(51).getTime(), -4);
  await infos.received(certificateId, { ...received, renewAt: null });
  expect(await renewAt(planId)).toEqual(chosen);
  await core.database.query(`UPDATE certificate SET is_current = false WHERE id = $1`, [certificateId]);
  await infos.received(certificateId, { ...received, renewAt: inDays(1) });
  expect(await renewAt(planId)).toEqual(chosen);
});

it('does not change when the renewal is due that is attached meanwhile', async () => {
  const { certificateId, planId } = await attached();
  const later = inDays(60);
  const window = { windowStart: inDays(-2), windowEnd: inDays(-1), explanationUrl: null, dueAt: inDays(1) };
  const received = await core.transactions.run(async (tx) => {
    await tx.query(`SELECT 1 FROM plan WHERE id = $1 FOR UPDATE`, [planId]);
    const stored = infos.received(certificateId, { ...window, renewAt: inDays(0) });
    await waiting();
    await tx.query(`UPDATE certificate SET is_current = false WHERE id = $1`, [certificateId]);
    await tx.query(`UPDATE plan SET renew_at = $2 WHERE id = $1`, [planId, later]);
    return { stored };
  });
  await received.stored;
  expect(await renewAt(planId)).toEqual(later);
});

it('counts failures until a response arrives', async () => {
  const { certificateId } = await attached();
  for (let round = 0; round < 2; round += 1) await infos.failed(certificateId, inDays(-1));
  expect(await infos.take(1, 0)).toMatchObject([{ failures: 2 }]);
  await infos.received(certificateId, {
    windowStart: inDays(1),
    windowEnd: inDays(2),
    explanationUrl: 'https://public-ca.example/why',
    dueAt: inDays(-1),
    renewAt: null,
  });
  expect(await infos.take(1, 0)).toMatchObject([{ failures: 0, windowStart: expect.any(Date) }]);
});

describe('of a certificate that another one has replaced', () => {
  const window = { windowStart: inDays(50), windowEnd: inDays(52), explanationUrl: null, dueAt: inDays(1) };
  const setCurrent = async (certificateId: string, isCurrent: boolean) =>
    await core.database.query(`UPDATE certificate SET is_current = $2 WHERE id = $1`, [
      certificateId,
      isCurrent,
    ]);

  it('rests, and is fetched as for a new one when the certificate is current again', async () => {
    const [used, unused] = [await attached('a.b'), await attached('c.d')];
    await infos.received(unused.certificateId, { ...window, renewAt: inDays(51) });
    await setCurrent(unused.certificateId, false);
    await infos.follow();
    expect(await infos.take(10, 60_000)).toMatchObject([{ certificateId: used.certificateId }]);
    await setCurrent(unused.certificateId, true);
    await infos.follow();
    const restored = { certificateId: unused.certificateId, windowStart: null, windowEnd: null, failures: 0 };
    expect(await infos.take(10, 60_000)).toMatchObject([restored]);
    await infos.follow();
    expect(await infos.take(10, 60_000)).toEqual([]);
  });

  it('keeps no window that arrives while it is not the current one', async () => {
    const { certificateId } = await attached();
    await setCurrent(certificateId, false);
    await infos.received(certificateId, { ...window, renewAt: inDays(51) });
    await setCurrent(certificateId, true);
    expect(await infos.take(10, 0)).toMatchObject([{ windowStart: null }]);
  });

  it.each([
    ['has expired', `not_before = now() - interval '2 days', not_after = now() - interval '1 day'`],
    ['was revoked', `revoked_at = now()`],
  ])('is deleted when it %s', async (_, change) => {
    const { certificateId } = await attached();
    await core.database.query(`UPDATE certificate SET ${change} WHERE id = $1`, [certificateId]);
    await infos.follow();
    expect(await core.database.query(`SELECT FROM renewal_info`)).toEqual([]);
  });
});
