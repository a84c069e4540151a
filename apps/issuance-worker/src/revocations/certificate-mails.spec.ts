import { randomBytes } from 'node:crypto';
import { revocationReasons } from '@certwright/issuance';
import { Accounts } from '@certwright/accounts';
import { CertificateMails1796169600000, OutboxWrites, Transactions } from '@certwright/core-schema';
import { Revocations } from '@certwright/ordering';
import { PurchaseFixture } from '@certwright/core-testing';
import { PendingRevocations } from './pending-revocations';
import { attachOpen, validity } from '@certwright/core-testing';

let fixture: PurchaseFixture;
let pending: PendingRevocations;
let accountId: string;
let reportedWrites = 0;
const writes = new OutboxWrites();
writes.onCommitted(() => (reportedWrites += 1));
beforeAll(async () => {
  fixture = await PurchaseFixture.open();
  pending = new PendingRevocations(fixture.core.database, new Transactions(fixture.core.database, writes));
}, 30_000);
afterAll(async () => await fixture.core.close());
beforeEach(async () => {
  accountId = await fixture.account(100_000);
  await query(`UPDATE account SET contact_email = 'ops@example.com' WHERE id = $1`, accountId);
});

const query = async <T>(statement: string, ...parameters: unknown[]): Promise<T[]> =>
  await fixture.core.database.query(statement, parameters);

async function plan(owner: 'certs-v2' | 'orders-v3' = 'certs-v2'): Promise<string> {
  const planId = await fixture.plan(accountId, [`${randomBytes(6).toString('hex')}.example.com`]);
  await query(`UPDATE plan SET owner = $2 WHERE id = $1`, planId, owner);
  return planId;
}

/** @returns the certificate's id */
async function issued(planId: string): Promise<string> {
  await fixture.buy(planId, { kind: 'term' });
  return (await attachOpen(fixture.core, planId, validity(0, 90))).certificateId;
}

const mails = async () =>
  await query<{ kind: string; recipient: string; id: string }>(
    `SELECT kind, recipient, facts ->> 'certificateId' AS id FROM mail WHERE account_id = $1 ORDER BY mail.id`,
    accountId,
  );

/** In one statement, like an API. */
const revoke = async (...ids: readonly string[]) =>
  await query(
    `UPDATE certificate SET revoked_at = statement_timestamp(), revocation_reason = $2 WHERE id = ANY ($1::bigint[])`,
    ids,
    revocationReasons.superseded,
  );
const confirm = async (id: string) => await pending.confirm(id, revocationReasons.superseded);

describe('the mail that a certificate is ready', () => {
  it('is enqueued for each instance of a certificate object', async () => {
    const planId = await plan();
    const ids = [await issued(planId), await issued(planId)];
    expect(await mails()).toEqual(
      ids.map((id) => ({ kind: 'certificate-issued', recipient: 'ops@example.com', id })),
    );
    const wakeUps = await query(
      `SELECT 1 FROM outbox JOIN mail ON payload ->> 'mailId' = mail.id::text
       WHERE job = 'send-mail' AND mail.account_id = $1`,
      accountId,
    );
    expect(wakeUps).toHaveLength(2);
  });

  it.each([
    ['for an order', async () => await issued(await plan('orders-v3'))],
    [
      'when the account does not want it',
      async () => {
        await new Accounts(fixture.core.database).changeMailSettings(accountId, { mailWhenIssued: false });
        await issued(await plan());
      },
    ],
    [
      'when there is no address',
      async () => {
        await query(`UPDATE account SET contact_email = NULL WHERE id = $1`, accountId);
        await issued(await plan());
      },
    ],
  ])('is not enqueued %s', async (_what, issue) => {
    await issue();
    expect(await mails()).toEqual([]);
  });
});

describe('the mail that a revocation is complete', () => {
  const revocations = async () => (await mails()).filter(({ kind }) => kind === 'revocation-complete');

  it('is sent once for all that were revoked together, after the last confirmation', async () => {
    const planId = await plan();
    const [first = '', second = '', third = ''] = [
      await issued(planId),
      await issued(planId),
      await issued(planId),
    ];
    await revoke(first, second);
    await confirm(first);
    expect(await revocations()).toEqual([]);
    reportedWrites = 0;
    await confirm(second);
    expect(await revocations()).toMatchObject([{ id: second, recipient: 'ops@example.com' }]);
    expect(reportedWrites).toBe(1);
    await confirm(second);
    expect(await revocations()).toHaveLength(1);
    await revoke(third);
    await confirm(third);
    expect((await revocations()).map(({ id }) => id)).toEqual([second, third]);
  });

  it('is sent once for all that were revoked because of their key', async () => {
    const planId = await plan();
    const [first = '', second = ''] = [await issued(planId), await issued(planId)];
    const reason = revocationReasons.keyCompromise;
    const request = { planId, certificateId: second, reason, requestedBy: 'operator' } as const;
    await fixture.core.transactions.run(async (tx) => await new Revocations().request(tx, request));
    await pending.confirm(first, reason);
    expect(await revocations()).toEqual([]);
    await pending.confirm(second, reason);
    expect(await revocations()).toMatchObject([{ id: second }]);
  });

  it('is sent once even when all are confirmed concurrently', async () => {
    const planId = await plan();
    const ids: string[] = [];
    for (let made = 0; made < 4; made += 1) ids.push(await issued(planId));
    await revoke(...ids);
    await Promise.all(ids.map(confirm));
    expect(await revocations()).toHaveLength(1);
  });

  it('does not wait for certificates that expired before their CA confirmed', async () => {
    const planId = await plan();
    const [first = '', second = ''] = [await issued(planId), await issued(planId)];
    await revoke(first, second);
    await query(
      `UPDATE certificate SET not_before = now() - interval '2 days', not_after = now() - interval '1 day' WHERE id = $1`,
      first,
    );
    await confirm(second);
    expect(await revocations()).toHaveLength(1);
  });

  const expire = async (id: string, daysAgo = 1) =>
    await query(
      `UPDATE certificate SET not_before = now() - $2 * interval '2 days', not_after = now() - $2 * interval '1 day' WHERE id = $1`,
      id,
      daysAgo,
    );

  it('is sent once when the last certificate expires before its CA confirms, also if the address changes', async () => {
    const planId = await plan();
    const [first = '', second = ''] = [await issued(planId), await issued(planId)];
    await revoke(first, second);
    await confirm(first);
    await query(`UPDATE certificate SET ca_revoked_at = now() - interval '2 days' WHERE id = $1`, first);
    await pending.mailLapsed();
    expect(await revocations()).toEqual([]);
    await expire(second);
    await Promise.all([pending.mailLapsed(), pending.mailLapsed()]);
    await pending.mailLapsed();
    expect(await revocations()).toMatchObject([{ id: first, recipient: 'ops@example.com' }]);
    for (const [state, address] of [
      ['pending', 'new@example.com'],
      ['sent', 'newer@example.com'],
    ]) {
      await query(
        `UPDATE mail SET state = $2, finished_at = CASE WHEN $2 = 'sent' THEN now() END WHERE account_id = $1`,
        accountId,
        state,
      );
      await query(`UPDATE account SET contact_email = $2 WHERE id = $1`, accountId, address);
      await pending.mailLapsed();
    }
    expect(await revocations()).toHaveLength(1);
  });

  it('is not sent when no CA confirmed anything, or a week after the expiry', async () => {
    const unconfirmed = await issued(await plan());
    await revoke(unconfirmed);
    await expire(unconfirmed);
    const planId = await plan();
    const [first = '', second = ''] = [await issued(planId), await issued(planId)];
    await revoke(first, second);
    await confirm(first);
    await expire(second, 8);
    await pending.mailLapsed();
    expect(await revocations()).toEqual([]);
  });

  it('is not enqueued for an order, nor when the account turned it off', async () => {
    const ofOrder = await issued(await plan('orders-v3'));
    await revoke(ofOrder);
    await confirm(ofOrder);
    await new Accounts(fixture.core.database).changeMailSettings(accountId, { mailWhenRevoked: false });
    const unwanted = await issued(await plan());
    await revoke(unwanted);
    await confirm(unwanted);
    expect(await revocations()).toEqual([]);
  });
});

it('both are on before the settings exist: the release runs without its migration', async () => {
  const runner = fixture.core.database.createQueryRunner();
  const migration = new CertificateMails1796169600000();
  await migration.down(runner);
  try {
    const certificateId = await issued(await plan());
    await revoke(certificateId);
    await confirm(certificateId);
    expect((await mails()).map(({ kind }) => kind)).toEqual(['certificate-issued', 'revocation-complete']);
    expect(await new Accounts(fixture.core.database).get(accountId)).toMatchObject({
      mailWhenIssued: true,
      mailWhenRevoked: true,
    });
  } finally {
    await migration.up(runner);
    await runner.release();
  }
});
