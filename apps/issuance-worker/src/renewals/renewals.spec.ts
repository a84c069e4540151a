import { createLogger, Metrics } from '@certwright/service';
import { FaultyDatabase } from '../testing/faulty-database';
import { Issuing } from '../testing/issuing';
import { opensslCsr } from '../testing/opened-issuance';
import { renewalsOver, renewOnce } from './testing/stored-renewals';

const dnsNames = ['a.example.com'];

let issuing: Issuing;
let csr: Buffer;

beforeAll(async () => {
  issuing = await Issuing.open();
  csr = opensslCsr(dnsNames);
}, 30_000);
afterAll(async () => await issuing.close());

type Issued = Awaited<ReturnType<Issuing['issued']>>;

/** A certificate nearly two thirds through its lifetime, with its renewal due. */
async function nearingItsEnd(): Promise<Issued> {
  const issued = await issuing.issued(dnsNames, csr);
  await issuing.database.query(`UPDATE plan SET renew_at = now() WHERE id = $1`, [issued.planId]);
  return issued;
}

async function replacementsOf({ certificateId }: Issued): Promise<readonly { id: string; state: string }[]> {
  return await issuing.database.query(
    `SELECT id, state FROM issuance WHERE replaces_certificate_id = $1 ORDER BY id`,
    [certificateId],
  );
}

async function currentsOf({ planId }: Issued): Promise<readonly { id: string; due: boolean }[]> {
  return await issuing.database.query(
    `SELECT certificate.id, plan.renew_at <= now() AS due FROM certificate JOIN plan ON plan.id = plan_id
     WHERE plan_id = $1 AND is_current`,
    [planId],
  );
}

describe('a renewal', () => {
  it('becomes the current certificate, and its own renewal is set', async () => {
    const issued = await nearingItsEnd();
    expect(await renewOnce(renewalsOver(issuing.asWorker))).toBeGreaterThan(0);
    const [replacement, ...more] = await replacementsOf(issued);
    expect(more).toEqual([]);
    await issuing.worker().run(replacement?.id ?? '');
    const [current, ...others] = await currentsOf(issued);
    expect(others).toEqual([]);
    expect(current?.id).not.toBe(issued.certificateId);
    expect(current?.due).toBe(false);
  });

  it('with a blocked key fails permanently, is tried again later, and leaves the certificate in use', async () => {
    const names = ['blocked.example.com'];
    const issued = await issuing.issued(names, opensslCsr(names));
    await issuing.database.query(
      `INSERT INTO blocked_key (spki_sha256, reason) SELECT spki_sha256, 'spec' FROM certificate WHERE id = $1`,
      [issued.certificateId],
    );
    const renewals = renewalsOver(issuing.asWorker);
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await issuing.database.query(`UPDATE plan SET renew_at = now() WHERE id = $1`, [issued.planId]);
      await renewals.openDue(500, new Date(Date.now() + attempt * 3_600_000));
      const replacement = (await replacementsOf(issued)).at(-1);
      await issuing.worker().run(replacement?.id ?? '');
      expect((await replacementsOf(issued)).map(({ state }) => state)).toEqual(
        Array.from({ length: attempt }, () => 'failed'),
      );
    }
    expect(await currentsOf(issued)).toMatchObject([{ id: issued.certificateId }]);
  });
});

describe('a renewal of a product with a price', () => {
  it('is paid from the balance of the account', async () => {
    const { database } = issuing;
    await database.query(`UPDATE product SET term_days = 90, price_cents = 1000 WHERE name = 'free_ca'`);
    const issued = await nearingItsEnd();
    await database.query(
      `UPDATE certificate SET not_before = now() - interval '89 days', not_after = now() + interval '1 day' WHERE id = $1`,
      [issued.certificateId],
    );
    await database.query(
      `INSERT INTO account_balance (account_id, currency, balance_cents) SELECT account_id, 'USD', 1500 FROM plan WHERE id = $1
       ON CONFLICT (account_id) DO UPDATE SET balance_cents = 1500`,
      [issued.planId],
    );
    await renewOnce(renewalsOver(issuing.asWorker));
    expect(await replacementsOf(issued)).toHaveLength(1);
    expect(
      await database.query(
        `SELECT balance_cents FROM account_balance WHERE account_id = (SELECT account_id FROM plan WHERE id = $1)`,
        [issued.planId],
      ),
    ).toEqual([{ balance_cents: '500' }]);
    await database.query(`UPDATE product SET term_days = NULL, price_cents = 0 WHERE name = 'free_ca'`);
    await database.query(`UPDATE plan SET closed_at = now() WHERE id = $1`, [issued.planId]);
    await database.query(
      `DELETE FROM account_balance WHERE account_id = (SELECT account_id FROM plan WHERE id = $1)`,
      [issued.planId],
    );
  });
});

describe('a renewal that the account cannot pay', () => {
  it('is logged and counted, and nothing is opened', async () => {
    const { database } = issuing;
    await database.query(`UPDATE product SET term_days = 90, price_cents = 1000 WHERE name = 'free_ca'`);
    const issued = await nearingItsEnd();
    await database.query(
      `UPDATE certificate SET not_before = now() - interval '89 days', not_after = now() + interval '1 day' WHERE id = $1`,
      [issued.certificateId],
    );
    const logged: string[] = [];
    const metrics = new Metrics('spec');
    const log = createLogger('spec', 'info', { write: (line) => void logged.push(line) });
    await renewOnce(renewalsOver(issuing.asWorker), { log, metrics });
    expect(await replacementsOf(issued)).toEqual([]);
    expect(logged.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({
        plan: issued.planId,
        reason: 'USD 10.00 is due, and USD 0.00 is available. Please add to the balance of the account.',
      }),
    ]);
    expect(await metrics.render()).toContain('certwright_renewals_unpaid_total{process="spec"} 1');
    await database.query(`UPDATE product SET term_days = NULL, price_cents = 0 WHERE name = 'free_ca'`);
    await database.query(`UPDATE plan SET closed_at = now() WHERE id = $1`, [issued.planId]);
  });
});

describe.each(['before', 'after'] as const)('the database connection fails %s a statement', (when) => {
  it('of a round: each certificate is still replaced once', async () => {
    for (let nth = 1; ; nth += 1) {
      const issued = await nearingItsEnd();
      const faulty = new FaultyDatabase(issuing.asWorker, nth, when);
      await renewOnce(renewalsOver(faulty.source)).catch(() => undefined);
      await renewOnce(renewalsOver(issuing.asWorker));
      const replacements = await replacementsOf(issued);
      expect({ nth, count: replacements.length }).toEqual({ nth, count: 1 });
      if (!faulty.struck) break;
      expect(nth).toBeLessThan(20);
    }
  }, 60_000);
});
