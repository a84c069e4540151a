import { randomBytes } from 'node:crypto';
import type { PlanOwner } from '@certwright/core-schema';
import { attachedCertificate, attachOpen, validity } from '@certwright/core-testing';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import { WebhookFixture } from '@certwright/core-testing';
import { AnnouncementRound } from './announcement-round';
import { Announcements } from './announcements';

let core: CoreDatabaseFixture;
let announcements: Announcements;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  announcements = new Announcements(core.database);
});
afterAll(async () => await core.close());
beforeEach(async () => {
  await core.database.query(`UPDATE plan SET announced_version = current_version`);
  await core.database.query(`DELETE FROM outbox`);
});

/** A plan with something to tell. */
async function planWithNews(accountId: string, owner: PlanOwner = 'orders-v3'): Promise<string> {
  await core.account(accountId);
  const flags = { autoRenew: true, muted: false, paused: false };
  const downloadToken = randomBytes(20).toString('base64url');
  return await core.transactions.run(async (tx) => {
    const planId = await core.plans.create(tx, { accountId, owner, downloadToken, ...flags });
    await tx.query(`UPDATE plan SET current_version = 1 WHERE id = $1`, [planId]);
    return planId;
  });
}

const announce = async (planId: string, owner: PlanOwner = 'orders-v3') =>
  await core.transactions.run(async (tx) => {
    const unannounced = await announcements.lock(tx, owner, planId);
    if (unannounced !== null) await announcements.markAnnounced(tx, unannounced);
    return unannounced !== null;
  });

describe('what is not announced yet', () => {
  it('comes by some plans of each account, and the next time from behind the last account', async () => {
    for (const accountId of ['11', '11', '11', '12']) await planWithNews(accountId);
    const both = await announcements.unannounced('orders-v3', '0', { accounts: 10, plansEach: 2 });
    expect(both.planIds).toHaveLength(3);
    expect(both.lastAccount).toBe('12');

    const one = { accounts: 1, plansEach: 2 };
    expect(await announcements.unannounced('orders-v3', '0', one)).toMatchObject({ lastAccount: '11' });
    expect(await announcements.unannounced('orders-v3', '11', one)).toMatchObject({ lastAccount: '12' });
    expect(await announcements.unannounced('orders-v3', '12', one)).toEqual({
      planIds: [],
      lastAccount: null,
    });
  });

  it('is announced by the owner of the plan only', async () => {
    const theirs = await planWithNews('11', 'certs-v2');
    const all = { accounts: 10, plansEach: 10 };
    expect((await announcements.unannounced('orders-v3', '0', all)).planIds).toEqual([]);
    expect((await announcements.unannounced('certs-v2', '0', all)).planIds).toEqual([theirs]);
    expect(await announce(theirs, 'orders-v3')).toBe(false);
    expect(await announce(theirs, 'certs-v2')).toBe(true);
    expect(await announce(theirs, 'certs-v2')).toBe(false);
  });

  it('does not wait for another copy that tells of it', async () => {
    const planId = await planWithNews('11');
    await core.transactions.run(async (tx) => {
      expect(await announcements.lock(tx, 'orders-v3', planId)).toMatchObject({
        accountId: '11',
        version: 1,
      });
      expect(await announce(planId)).toBe(false);
    });
  });

  it('covers closed plans too, so that they are marked', async () => {
    const planId = await planWithNews('11');
    await core.transactions.run(async (tx) => await core.plans.close(tx, planId));
    expect(await announce(planId)).toBe(true);
  });
});

describe('the sweep', () => {
  it('tells of every other plan while one cannot be announced, and rests when nothing is left', async () => {
    const [broken, ...others] = [
      await planWithNews('11'),
      await planWithNews('11'),
      await planWithNews('12'),
      await planWithNews('12', 'certs-v2'),
    ] as const;
    const failed: string[] = [];
    const sweep = new AnnouncementRound(announcements, 'orders-v3', async (planId) => {
      if (planId === broken) throw new Error('cannot be rendered');
      return await announce(planId);
    });
    const round = async () => await sweep.run((planId) => failed.push(planId));
    expect(await round()).toBe(0);
    expect(failed).toEqual([broken]);
    const all = { accounts: 10, plansEach: 10 };
    expect((await announcements.unannounced('orders-v3', '0', all)).planIds).toEqual([broken]);
    expect((await announcements.unannounced('certs-v2', '0', all)).planIds).toEqual([others[2]]);

    // Behind the last account, then from the first one again, which makes no progress.
    expect([await round(), await round()]).toEqual([0, 1_000]);
    await announce(broken);
    await announce(others[2], 'certs-v2');
    expect([await round(), await round()]).toEqual([0, 1_000]);
  });
});

describe('when the current certificate of a plan changes', () => {
  it.each<[PlanOwner, string]>([
    ['orders-v3', 'current-certificate-changed'],
    ['certs-v2', 'current-instance-changed'],
  ])('its owner %s gets the job %s', async (owner, job) => {
    const accountId = await core.account('21');
    await new WebhookFixture(core).endpoint(accountId);
    const { planId, termsId } = await core.plan(accountId, ['a.example.com']);
    await core.database.query(`UPDATE plan SET owner = $2 WHERE id = $1`, [planId, owner]);
    await core.transactions.run(
      async (tx) =>
        await core.issuances.open(tx, {
          planId,
          accountId,
          termsId,
          revision: 1,
          dnsNames: ['a.example.com'],
          settlingMs: 0,
        }),
    );
    await core.database.query(`DELETE FROM outbox`);
    await attachOpen(core, planId, validity(0, 90));
    const jobs = await core.database.query(`SELECT job, payload FROM outbox WHERE job LIKE 'current-%'`);
    expect(jobs).toEqual([{ job, payload: { planId } }]);
  });

  it('of an account without endpoints creates no job', async () => {
    await attachedCertificate(core, await core.account('22'), validity(0, 90));
    expect(await core.database.query(`SELECT job FROM outbox WHERE job LIKE 'current-%'`)).toEqual([]);
  });
});
