import type { RevocationReason } from '@certwright/issuance';
import { randomBytes, randomInt } from 'node:crypto';
import type { Lease } from '@certwright/core-schema';
import { BlockedKeys, Plans, type RevocationRequest, Revocations } from '@certwright/ordering';
import { renewalsOver } from '../renewals/testing/stored-renewals';
import {
  type AttachedCertificate,
  attachedCertificate,
  attachOpen,
  validity,
  CoreDatabaseFixture,
} from '@certwright/core-testing';
import { eventually } from '@certwright/testing';
import { type DueRevocation, PendingRevocations } from './pending-revocations';

const accountId = '1000000000001';
const otherAccount = '1000000000002';

let core: CoreDatabaseFixture;
let pending: PendingRevocations;

beforeAll(async () => {
  core = await CoreDatabaseFixture.open();
  pending = new PendingRevocations(core.database, core.transactions);
  await core.account(accountId);
  await core.account(otherAccount);
});
afterAll(async () => await core.close());
beforeEach(async () => await core.database.query(`DELETE FROM outbox`));

const valid = async () => await attachedCertificate(core, accountId, validity(-1, 89));

const revoke = async (
  { planId, certificateId }: Pick<AttachedCertificate, 'planId' | 'certificateId'>,
  reason: RevocationReason,
  requestedBy: RevocationRequest['requestedBy'] = 'subscriber',
) =>
  await core.transactions.run(
    async (tx) => await new Revocations().request(tx, { planId, certificateId, reason, requestedBy }),
  );

const certificateRow = async (id: string) => {
  const [row] = await core.database.query<
    [{ revoked_at: Date | null; revocation_reason: number | null; is_current: boolean; spki_sha256: Buffer }]
  >(`SELECT revoked_at, revocation_reason, is_current, spki_sha256 FROM certificate WHERE id = $1`, [id]);
  return row;
};
const wakeUps = async (job: string) => {
  const rows: { job_id: string }[] = await core.database.query(
    `SELECT job_id FROM outbox WHERE job = $1 ORDER BY id`,
    [job],
  );
  return rows.map(({ job_id }) => job_id);
};
const lockWaits = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
const openOf = async (planId: string) =>
  await core.database.query<{ replaces: string | null }[]>(
    `SELECT replaces_certificate_id AS replaces FROM issuance WHERE plan_id = $1 AND state = 'open'`,
    [planId],
  );

/** A plan with a second, newer certificate for the same key. */
async function renewed(): Promise<{
  readonly first: AttachedCertificate;
  readonly second: AttachedCertificate;
}> {
  const first = await valid();
  await core.database.query(`UPDATE plan SET renew_at = now() WHERE id = $1`, [first.planId]);
  await renewalsOver(core.database).openDue(1_000);
  return { first, second: await attachOpen(core, first.planId, validity(-0.01, 90)) };
}

describe('a revocation', () => {
  it('takes effect locally at once, clears the current flag, and schedules the rest', async () => {
    const certificate = await valid();
    expect(await revoke(certificate, 4)).toBe('revoked');
    const row = await certificateRow(certificate.certificateId);
    expect(row).toMatchObject({ revocation_reason: 4, is_current: false });
    expect(row.revoked_at).not.toBeNull();
    expect(await wakeUps('revoke-certificate')).toEqual([
      `revoke-certificate-${certificate.certificateId}-4`,
    ]);
  });

  it('is published when a webhook subscribes to it, and counts as reported otherwise', async () => {
    const unheard = await valid();
    await revoke(unheard, 4);
    expect(await wakeUps('current-certificate-changed')).toEqual([]);
    const heard = await valid();
    await core.database.query(
      `INSERT INTO webhook_endpoint (id, account_id, url, secret_sealed, description, enabled)
       SELECT 1, account_id, 'https://hook.example.com/', '', '', true FROM plan WHERE id = $1`,
      [heard.planId],
    );
    await revoke(heard, 4);
    expect(await wakeUps('current-certificate-changed')).toEqual([
      `current-certificate-changed-${heard.planId}-2`,
    ]);
    const versions = await core.database.query<{ id: string; announced: boolean }[]>(
      `SELECT id, announced_version = current_version AS announced FROM plan WHERE id = ANY($1::bigint[]) ORDER BY id`,
      [[unheard.planId, heard.planId]],
    );
    expect(versions.map(({ announced }) => announced)).toEqual([true, false]);
    await core.database.query(`DELETE FROM webhook_endpoint`);
  });

  it('makes the other valid certificate the current one', async () => {
    const { first, second } = await renewed();
    await revoke(second, 0);
    expect((await certificateRow(first.certificateId)).is_current).toBe(true);
  });

  it('that is repeated changes nothing: the first reason is kept', async () => {
    const certificate = await valid();
    await revoke(certificate, 4);
    const before = await certificateRow(certificate.certificateId);
    await core.database.query(`DELETE FROM outbox`);
    expect(await revoke(certificate, 5)).toBe('revoked');
    expect(await revoke(certificate, 0)).toBe('revoked');
    expect(await certificateRow(certificate.certificateId)).toEqual(before);
    expect(await wakeUps('revoke-certificate')).toEqual([]);
  });

  it('is done once for concurrent requests', async () => {
    const certificate = await valid();
    await Promise.all(Array.from({ length: 8 }, async () => await revoke(certificate, 4)));
    expect(await wakeUps('revoke-certificate')).toHaveLength(1);
    expect(await openOf(certificate.planId)).toHaveLength(1);
  });

  it('does not find a certificate of another plan, and does not change an expired one', async () => {
    const [one, other] = [await valid(), await valid()];
    expect(await revoke({ planId: one.planId, certificateId: other.certificateId }, 0)).toBe('missing');
    const expired = await attachedCertificate(core, accountId, validity(-90, 1));
    await core.database.query(
      `UPDATE certificate SET not_after = now() - interval '1 second' WHERE id = $1`,
      [expired.certificateId],
    );
    expect(await revoke(expired, 1)).toBe('expired');
    expect((await certificateRow(expired.certificateId)).revoked_at).toBeNull();
  });
});

describe('the replacement of a revoked certificate', () => {
  it('is opened when it was the current one and auto_renew is true, once', async () => {
    const certificate = await valid();
    await revoke(certificate, 4);
    await revoke(certificate, 1);
    expect(await openOf(certificate.planId)).toEqual([{ replaces: certificate.certificateId }]);
    await attachOpen(core, certificate.planId, validity(0, 90));
    await revoke(certificate, 1);
    expect(await openOf(certificate.planId)).toEqual([]);
  });

  it.each([
    ['auto_renew is false', 'auto_renew = false', 4],
    ['the order is paused', 'paused = true', 4],
    ['the order is deleted', 'closed_at = now()', 4],
    ['the CSR is missing', 'terms_id = NULL', 4],
    ['the reason is cessationOfOperation', 'muted = true', 5],
  ] as const)('is not opened when %s', async (_, assignment, reason) => {
    const certificate = await valid();
    await core.database.query(`UPDATE plan SET ${assignment} WHERE id = $1`, [certificate.planId]);
    expect(await revoke(certificate, reason)).toBe('revoked');
    expect(await openOf(certificate.planId)).toEqual([]);
  });

  it('is not opened for one that was not the current one', async () => {
    const { first } = await renewed();
    await revoke(first, 4);
    expect(await openOf(first.planId)).toEqual([]);
  });

  it('has the terms that are set while the revocation waits for the plan', async () => {
    const certificate = await valid();
    const { planId } = certificate;
    const { revoked, termsId } = await core.transactions.run(async (tx) => {
      await tx.query(`SELECT 1 FROM plan WHERE id = $1 FOR UPDATE`, [planId]);
      const request = revoke(certificate, 4, 'operator');
      await eventually(async () => expect(await core.database.query(lockWaits)).toHaveLength(1));
      const terms = {
        product: 'free_ca',
        dnsNames: ['b.example.com'],
        keyType: 'ecdsa',
        csr: randomBytes(8),
      } as const;
      const added = { ...terms, spkiSha256: randomBytes(32), approverEmails: {} };
      return { revoked: { request }, termsId: await core.plans.setTerms(tx, planId, added) };
    });
    await revoked.request;
    expect(
      await core.database.query(`SELECT terms_id FROM issuance WHERE plan_id = $1 AND state = 'open'`, [
        planId,
      ]),
    ).toEqual([{ terms_id: termsId }]);
  });

  it('is the issuance in progress, if there is one', async () => {
    const certificate = await valid();
    await core.database.query(`UPDATE plan SET renew_at = now() WHERE id = $1`, [certificate.planId]);
    await renewalsOver(core.database).openDue(1_000);
    await revoke(certificate, 4);
    expect(await openOf(certificate.planId)).toHaveLength(1);
  });
});

describe('the replacement of a revoked certificate of a product with paid terms', () => {
  const dnsNames = ['a.example.com'];
  const issued = async (paidThrough: Date | null) => {
    const certificate = await attachedCertificate(core, accountId, validity(-1, 50));
    const product = { paidThrough, paidProduct: paidThrough === null ? null : 'paid_ca' };
    await core.database.query(`ALTER TABLE terms DISABLE TRIGGER terms_are_immutable`);
    await core.database.query(`UPDATE terms SET product = 'paid_ca' WHERE plan_id = $1`, [
      certificate.planId,
    ]);
    await core.database.query(`ALTER TABLE terms ENABLE TRIGGER terms_are_immutable`);
    await core.database.query(
      `UPDATE plan SET paid_through = $2, paid_product = $3, paid_names = 1 WHERE id = $1`,
      [certificate.planId, product.paidThrough, product.paidProduct],
    );
    const [{ terms_id: own }] = await core.database.query<[{ terms_id: string }]>(
      `SELECT terms_id FROM plan WHERE id = $1`,
      [certificate.planId],
    );
    return { ...certificate, own };
  };
  const setTerms = async (planId: string, product: string, names: readonly string[]) =>
    await core.transactions.run(
      async (tx) =>
        await core.plans.setTerms(tx, planId, {
          product,
          dnsNames: names,
          keyType: 'ecdsa',
          csr: randomBytes(8),
          spkiSha256: randomBytes(32),
          approverEmails: {},
        }),
    );
  const replacementOf = async ({ planId }: AttachedCertificate) => {
    const rows: { terms_id: string; expires_by: Date | null; names: number; charges: number }[] =
      await core.database.query(
        `SELECT terms_id, expires_by, jsonb_array_length(approvals) AS names,
           (SELECT count(*)::int FROM charge WHERE charge.plan_id = issuance.plan_id) AS charges
         FROM issuance WHERE plan_id = $1 AND state = 'open'`,
        [planId],
      );
    return rows[0];
  };
  const inAYear = new Date(Math.floor(Date.now() / 1_000) * 1_000 + 365 * 86_400_000);

  it('lasts for the paid term, and is not charged', async () => {
    const certificate = await issued(inAYear);
    const present = await setTerms(certificate.planId, 'paid_ca', ['b.example.com']);
    await revoke(certificate, 4);
    expect(await replacementOf(certificate)).toEqual({
      terms_id: present,
      expires_by: inAYear,
      names: 1,
      charges: 0,
    });
  });

  it('has the paid names, not those added since', async () => {
    const certificate = await issued(inAYear);
    await setTerms(certificate.planId, 'paid_ca', [...dnsNames, 'b.example.com', 'c.example.com']);
    await revoke(certificate, 4);
    expect(await replacementOf(certificate)).toMatchObject({ terms_id: certificate.own, names: 1 });
  });

  it.each([
    ['nothing is paid', null],
    ['the term is over', new Date('2026-01-01')],
  ])('lasts no longer than the revoked one when %s', async (_, paidThrough) => {
    const certificate = await issued(paidThrough);
    await revoke(certificate, 4);
    const [{ not_after }] = await core.database.query<[{ not_after: Date }]>(
      `SELECT not_after FROM certificate WHERE id = $1`,
      [certificate.certificateId],
    );
    expect(await replacementOf(certificate)).toMatchObject({ expires_by: not_after });
  });

  it('has no paid end after a change to a product without paid terms', async () => {
    const certificate = await issued(new Date('2026-01-01'));
    const present = await setTerms(certificate.planId, 'free_ca', dnsNames);
    await revoke(certificate, 4);
    expect(await replacementOf(certificate)).toMatchObject({ terms_id: present, expires_by: null });
  });
});

describe('keyCompromise', () => {
  it('revokes every certificate of the plan with this key, so that none of them becomes the current one', async () => {
    const { first, second } = await renewed();
    await revoke(second, 1);
    for (const { certificateId } of [first, second]) {
      expect(await certificateRow(certificateId)).toMatchObject({ revocation_reason: 1, is_current: false });
    }
    expect((await wakeUps('revoke-certificate')).sort()).toEqual(
      [first, second].map(({ certificateId }) => `revoke-certificate-${certificateId}-1`).sort(),
    );
  });

  it('of an older certificate replaces the current one with its key', async () => {
    const { first, second } = await renewed();
    await revoke(first, 1);
    expect(await openOf(first.planId)).toEqual([{ replaces: second.certificateId }]);
  });

  it('set later for the certificate before the current one replaces that too', async () => {
    const { first, second } = await renewed();
    await revoke(first, 4);
    expect(await openOf(first.planId)).toEqual([]);
    await revoke(first, 1);
    expect(await openOf(first.planId)).toEqual([{ replaces: second.certificateId }]);
  });

  it('of an older certificate requests a new key from an owner that makes keys', async () => {
    const { first } = await renewed();
    await core.database.query(`UPDATE plan SET makes_keys = true WHERE id = $1`, [first.planId]);
    await revoke(first, 1);
    expect(await openOf(first.planId)).toEqual([]);
    expect(
      await core.database.query(`SELECT reason FROM key_request WHERE plan_id = $1`, [first.planId]),
    ).toEqual([{ reason: 'rekey' }]);
  });

  it('does not revoke imported ones with this key: only their CA can', async () => {
    const certificate = await valid();
    const imported = { planId: certificate.planId, certificateId: String(randomInt(1, 2 ** 47)) };
    await core.database.query(
      `INSERT INTO certificate (id, account_id, plan_id, imported, is_current, dns_names, key_type, serial_number,
         not_before, not_after, sha256, spki_sha256, leaf, chain_sha256)
       SELECT $2, account_id, plan_id, true, false, dns_names, key_type, '01', not_before, not_after, $3, spki_sha256,
         leaf, chain_sha256 FROM certificate WHERE id = $1`,
      [certificate.certificateId, imported.certificateId, randomBytes(32)],
    );
    expect(await revoke(imported, 4, 'operator')).toBe('missing');
    await revoke(certificate, 1);
    expect(await certificateRow(imported.certificateId)).toMatchObject({ revoked_at: null });
    expect((await certificateRow(certificate.certificateId)).revoked_at).not.toBeNull();
  });

  it('blocks the key for the account, and for no other: a CSR is no secret', async () => {
    const certificate = await valid();
    const { spki_sha256: key } = await certificateRow(certificate.certificateId);
    const blockedKeys = new BlockedKeys(core.database);
    await revoke(certificate, 1);
    expect(await blockedKeys.has(key, accountId)).toBe(true);
    expect(await blockedKeys.has(key, otherAccount)).toBe(false);
  });

  it('reported by an operator blocks the key for every account', async () => {
    const certificate = await valid();
    const { spki_sha256: key } = await certificateRow(certificate.certificateId);
    await revoke(certificate, 1);
    await revoke(certificate, 1, 'operator');
    expect(await new BlockedKeys(core.database).has(key, otherAccount)).toBe(true);
    expect(await new BlockedKeys(core.database).has(randomBytes(32), otherAccount)).toBe(false);
  });

  it('is not a list of blocked keys that an operator has loaded', async () => {
    const blockedKeys = new BlockedKeys(core.database);
    await revoke(await valid(), 1, 'operator');
    expect(await blockedKeys.isListLoaded()).toBe(false);
    await blockedKeys.add([randomBytes(32)], 'a list');
    expect(await blockedKeys.isListLoaded()).toBe(true);
  });

  it('can be set later for a certificate revoked for another reason; the date is kept', async () => {
    const certificate = await valid();
    await revoke(certificate, 4);
    const before = await certificateRow(certificate.certificateId);
    await pending.confirm(certificate.certificateId, 4);
    await revoke(certificate, 1);
    expect(await certificateRow(certificate.certificateId)).toMatchObject({
      revocation_reason: 1,
      revoked_at: before.revoked_at,
    });
    expect(await pending.find(certificate.certificateId)).toMatchObject({ reason: 1 });
  });

  it('ends the lease of an issuance with this key, and the next check finds the key blocked', async () => {
    const certificate = await valid();
    await core.database.query(`UPDATE plan SET renew_at = now() WHERE id = $1`, [certificate.planId]);
    await renewalsOver(core.database).openDue(1_000);
    const [{ id }] = await core.database.query<[{ id: string }]>(
      `SELECT id FROM issuance WHERE plan_id = $1 AND state = 'open'`,
      [certificate.planId],
    );
    const before = await core.leased.lease(id, 15_000);
    expect(before?.keyBlocked).toBe(false);
    await revoke(certificate, 1);
    if (before === null) throw new Error('it could be leased');
    await expect(core.leased.save(before.lease, { state: 'issued' }, 'release')).rejects.toThrow('lost');
    expect((await core.leased.lease(id, 15_000))?.keyBlocked).toBe(true);
  });

  it.each([
    ['a report of the account', 'subscriber', true, false],
    ['a report of an operator', 'operator', true, true],
    ['a list that an operator loads', null, true, true],
  ] as const)(
    '%s ends leases of issuances of the same key in other orders',
    async (_what, by, own, foreign) => {
      const certificate = await valid();
      const { spki_sha256: key } = await certificateRow(certificate.certificateId);
      const held = [await leasedWith(accountId, key), await leasedWith(otherAccount, key)];
      const unrelated = await leasedWith(otherAccount, randomBytes(32));
      if (by === null) await new BlockedKeys(core.database).add([key, randomBytes(32)], 'a list');
      else await revoke(certificate, 1, by);
      const areHeld = await Promise.all([...held, unrelated].map(isHeld));
      expect(areHeld).toEqual([!own, !foreign, true]);
    },
  );
});

/** @returns the lease of an open issuance for this key */
async function leasedWith(account: string, spkiSha256: Buffer): Promise<Lease> {
  const id = await core.transactions.run(async (tx) => {
    const [settings, downloadToken] = [
      { autoRenew: false, muted: false, paused: false },
      randomBytes(16).toString('hex'),
    ];
    const planId = await new Plans().create(tx, { accountId: account, ...settings, downloadToken });
    const key = { keyType: 'ecdsa', csr: Buffer.of(1), spkiSha256 } as const;
    const dnsNames = ['same-key.example.com'];
    const terms = { product: 'free_ca', dnsNames, approverEmails: {}, approvalWays: null, ...key };
    const termsId = await new Plans().setTerms(tx, planId, terms);
    const opening = { planId, accountId: account, termsId, revision: 1, dnsNames, settlingMs: 0 };
    return await core.issuances.open(tx, opening);
  });
  const work = await core.leased.lease(id, 15_000);
  if (work === null) throw new Error('it could not be leased');
  return work.lease;
}

const isHeld = async (lease: Lease): Promise<boolean> =>
  await core.leased.save(lease, {}, { keepForMs: 15_000 }).then(
    () => true,
    () => false,
  );

describe('a revocation that the CA has not confirmed', () => {
  it('is found until the CA has confirmed the same reason', async () => {
    const certificate = await valid();
    const { certificateId: id } = certificate;
    expect(await pending.find(id)).toBeNull();
    await revoke(certificate, 4);
    expect(await pending.find(id)).toMatchObject({
      certificateId: id,
      accountId,
      reason: 4,
      caReference: `reference-${certificate.issuanceId}`,
      certificateAuthority: 'built-in',
    });
    await pending.confirm(id, 1);
    expect(await pending.find(id)).not.toBeNull();
    await pending.confirm(id, 4);
    expect(await pending.find(id)).toBeNull();
  });

  it('is listed before the second one of another account', async () => {
    for (let count = 0; count < 3; count += 1) await revoke(await valid(), 5);
    const other = await attachedCertificate(core, otherAccount, validity(-1, 89));
    await revoke(other, 5);
    expect((await pending.page(null, 2)).map(({ id }) => id)).toContain(other.certificateId);
  });

  it('is listed page by page, and not after the certificate has expired', async () => {
    const all: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      const certificate = await valid();
      await revoke(certificate, 5);
      all.push(certificate.certificateId);
    }
    const seen: string[] = [];
    for (let after: DueRevocation | null | undefined = null; after !== undefined;) {
      const page: readonly DueRevocation[] = await pending.page(after, 2);
      seen.push(...page.map(({ id }) => id));
      after = page.at(-1);
    }
    expect(seen).toEqual(expect.arrayContaining(all));
    expect(seen).toEqual([...new Set(seen)]);
    await core.database.query(
      `UPDATE certificate SET not_after = now() - interval '1 second' WHERE revoked_at IS NOT NULL`,
    );
    expect(await pending.page(null, 10)).toEqual([]);
  });
});
