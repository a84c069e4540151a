import { CertificateAuthorities } from '../certificate-authorities/certificate-authorities';
import { CoreDatabaseFixture } from '@certwright/core-testing';
import type { Outcome } from '@certwright/issuance';
import { WaitingIssuances } from '@certwright/ordering';
import { issuanceErrorOf, type StoredIssuanceError } from '@certwright/outcome-messages';

const accountId = '1000000000001';
const dnsNames = ['a.example.com'];
const problem = { code: 'ca_attempt_ended', authority: 'one' } as const;
const since = '2026-11-22T11:00:00Z';
const probed = '2026-11-22T12:00:00Z';
const downOf = (authority: string) => ({
  authority,
  outcome: { code: 'ca_down', authority, since, nextProbeAt: probed, problem: null } as const,
});
const bothDown: Outcome = { code: 'cas_refused', refusals: [downOf('one'), downOf('other')] };

let core: CoreDatabaseFixture;
let authorities: CertificateAuthorities;
let waiting: WaitingIssuances;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  await core.account(accountId);
  authorities = new CertificateAuthorities(core.database);
  waiting = new WaitingIssuances(core.database);
  for (const name of ['one', 'other'])
    await authorities.create({ name, directoryUrl: 'https://ca.example/directory' });
});
afterAll(async () => await core.close());
beforeEach(async () => {
  await core.database.query(`UPDATE issuance SET state = 'canceled', closed_at = now() WHERE state = 'open'`);
  for (const name of ['one', 'other']) await authorities.markUp(name);
});

/** Issuances that started to wait when their lease ended, each older than the next one. */
async function waitFor(...waits: readonly (readonly string[])[]): Promise<readonly string[]> {
  return await waitAfter(bothDown, waits);
}

async function waitAfter(
  refused: Outcome,
  waits: readonly (readonly string[])[],
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const [index, waitsFor] of waits.entries()) {
    const plan = await core.plan(accountId, dnsNames);
    const opening = { ...plan, accountId, revision: 1, dnsNames, settlingMs: 0 };
    const id = await core.transactions.run(async (tx) => await core.issuances.open(tx, opening));
    const leased = await core.leased.lease(id, 5_000);
    if (leased === null) throw new Error('a fresh issuance can be leased');
    const lastError = { code: 'ca_unavailable', outcome: refused } as const;
    await core.leased.save(leased.lease, { dueAt: leased.now, lastError, waitsFor }, 'release');
    await core.database.query(
      `UPDATE issuance SET opened_at = now() - $2 * interval '1 minute' WHERE id = $1`,
      [id, 100 - index],
    );
    ids.push(id);
  }
  return ids;
}

const due = async () => (await core.leased.due(10)).map(({ id }) => id);

async function stateOf(id: string) {
  const [row] = await core.database.query<
    [{ waits_for: string[] | null; due_s: number; failures: number; error: StoredIssuanceError }]
  >(
    `SELECT waits_for, extract(epoch FROM due_at - now())::int AS due_s, failures, last_error AS error
     FROM issuance WHERE id = $1`,
    [id],
  );
  return row;
}

const newTime = expect.not.stringContaining(probed) as unknown;

describe('issuances that wait for a CA', () => {
  it('have one process claim the probe, and are due after it', async () => {
    const [id = ''] = await waitFor(['one']);
    await authorities.markDown('one', { scope: 'everything', problem }, { probeInMs: 0 });
    await authorities.markDown('other', { scope: 'everything', problem }, { probeInMs: 0 });
    const claims = await Promise.all([1, 2, 3].map(async () => await waiting.claimProbes(60_000, 5_000)));
    // No issuance waits for the other CA.
    expect(claims.flat()).toEqual(['one']);
    const state = await stateOf(id);
    expect(state.due_s).toBeGreaterThan(60);
    expect(issuanceErrorOf(state.error).outcome).toEqual({
      code: 'cas_refused',
      refusals: [
        { authority: 'one', outcome: { ...downOf('one').outcome, nextProbeAt: newTime } },
        downOf('other'),
      ],
    });
    expect(await due()).toEqual([]);
  });

  it('get the time of the next probe when a single CA refused', async () => {
    const { outcome: down } = downOf('one');
    const [id = ''] = await waitAfter(down, [['one']]);
    await authorities.markDown('one', { scope: 'everything', problem }, { probeInMs: 0 });
    expect(await waiting.claimProbes(60_000, 5_000)).toEqual(['one']);
    const { error } = await stateOf(id);
    expect(issuanceErrorOf(error).outcome).toEqual({ ...down, nextProbeAt: newTime });
  });

  it('that have a due time of their own keep it while the CA is probed', async () => {
    const [id = ''] = await waitFor(['one']);
    await core.database.query(
      `UPDATE issuance SET last_error = last_error || '{"keepsDueTime": true}',
         due_at = now() + $2 * interval '1 s' WHERE id = $1`,
      [id, 3],
    );
    await authorities.markDown('one', { scope: 'everything', problem }, { probeInMs: 0 });
    expect(await waiting.claimProbes(60_000, 5_000)).toEqual(['one']);
    const { due_s: dueS, error } = await stateOf(id);
    expect(dueS).toBeLessThanOrEqual(3);
    expect(issuanceErrorOf(error).outcome).toMatchObject({
      refusals: [{ outcome: { nextProbeAt: newTime } }, {}],
    });
  });

  it('get it as a text when an older release without outcomes stored them', async () => {
    const [id = ''] = await waitFor(['one']);
    const message = `The next probe of one is at ${probed}; the next probe of other is at noon.`;
    await core.database.query(`UPDATE issuance SET last_error = $2 WHERE id = $1`, [
      id,
      { code: 'ca_unavailable', message },
    ]);
    await authorities.markDown('one', { scope: 'everything', problem }, { probeInMs: 0 });
    expect(await waiting.claimProbes(60_000, 5_000)).toEqual(['one']);
    const { error } = await stateOf(id);
    expect(error).toEqual({ code: 'ca_unavailable', message: expect.not.stringContaining(probed) });
    expect(error.message).toMatch(
      /^The next probe of one is at \d{4}-[-\dT:]+Z; the next probe of other is at noon\.$/,
    );
  });

  it('are released once it is up, oldest first, and those of another CA keep waiting', async () => {
    const [old = '', mid = '', both = '', other = ''] = await waitFor(
      ['one'],
      ['one'],
      ['other', 'one'],
      ['other'],
    );
    await core.database.query(`UPDATE issuance SET due_at = now() + interval '1 h' WHERE id = ANY ($1)`, [
      [old, mid, both, other],
    ]);
    for (const name of ['one', 'other'])
      await authorities.markDown(name, { scope: 'everything', problem }, { probeInMs: 60_000 });
    expect(await waiting.release()).toBe(0);
    await authorities.markUp('one');
    expect(await waiting.release()).toBe(3);
    expect(await due()).toEqual([old, mid, both]);
    expect(await stateOf(other)).toMatchObject({ waits_for: ['other'], failures: 0 });
    expect(await waiting.release()).toBe(0);
  });

  it('are attempted again after an operator changed the CAs, once every process has the change', async () => {
    const [id = ''] = await waitFor(['one']);
    await core.database.query(`UPDATE issuance SET due_at = now() + interval '1 h' WHERE id = $1`, [id]);
    await authorities.markDown('one', { scope: 'everything', problem }, { probeInMs: 60_000 });
    await waiting.reconsider();
    const state = await stateOf(id);
    expect(state).toMatchObject({ waits_for: null, failures: 0 });
    expect(state.due_s).toBeLessThanOrEqual(6);
  });

  it('have the oldest tried alone, and no other while it is in progress', async () => {
    const [old = '', next = ''] = await waitFor(['one'], ['one']);
    await core.database.query(`UPDATE issuance SET due_at = now() + interval '1 h' WHERE state = 'open'`);
    await authorities.markDown('one', { scope: 'everything', problem }, { probeInMs: 60_000 });
    expect(await waiting.takeOldest('one', [])).toBe(old);
    expect(await due()).toEqual([old]);
    expect(await core.leased.lease(old, 5_000)).not.toBeNull();
    expect((await stateOf(old)).waits_for).toBeNull();
    expect(await waiting.takeOldest('one', [old])).toBe(next);
    expect(await waiting.takeOldest('one', [old, next])).toBeNull();
  });

  it('are moved and released by statements that end in time, however many they are', async () => {
    const many = 5_001;
    const [first = ''] = await waitFor(['one']);
    await core.database.query(
      `WITH plans AS (
         INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token, terms_id)
         SELECT plan.account_id, 1, true, false, false, 'waiting-' || n, plan.terms_id
         FROM issuance JOIN plan ON plan.id = plan_id CROSS JOIN generate_series(2, $2::int) AS n
         WHERE issuance.id = $1 RETURNING id, account_id, terms_id)
       INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, waits_for, last_error)
       SELECT plans.id, plans.account_id, plans.terms_id, 1, 'open', one.approvals, now(), one.waits_for, one.last_error
       FROM plans CROSS JOIN issuance AS one WHERE one.id = $1`,
      [first, many],
    );
    await core.database.query(`CREATE TABLE changed (count int NOT NULL)`);
    await core.database.query(
      `CREATE FUNCTION count_changed() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN INSERT INTO changed SELECT count(*) FROM rows; RETURN NULL; END $$`,
    );
    await core.database.query(
      `CREATE TRIGGER count_changed AFTER UPDATE ON issuance REFERENCING NEW TABLE AS rows
       FOR EACH STATEMENT EXECUTE FUNCTION count_changed()`,
    );
    await authorities.markDown('one', { scope: 'everything', problem }, { probeInMs: 0 });
    await authorities.markDown('other', { scope: 'everything', problem }, { probeInMs: 60_000 });
    expect(await waiting.claimProbes(60_000, 5_000)).toEqual(['one']);
    const [{ moved }] = await core.database.query<[{ moved: number }]>(
      `SELECT count(*)::int AS moved FROM issuance WHERE state = 'open' AND due_at > now() + interval '60 s'`,
    );
    expect(moved).toBe(many);
    await authorities.markUp('one');
    expect(await waiting.release()).toBe(many);
    const [{ largest }] = await core.database.query<[{ largest: number }]>(
      `SELECT max(count) AS largest FROM changed`,
    );
    expect(largest).toBeLessThanOrEqual(5_000);
    await core.database.query(`DROP TRIGGER count_changed ON issuance`);
  }, 60_000);
});
