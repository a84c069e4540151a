import { randomBytes, randomInt } from 'node:crypto';
import { type Attachment, Attachments } from '@certwright/ordering';
import type { CoreDatabaseFixture } from './core-database';

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export interface AttachedCertificate {
  readonly planId: string;
  readonly certificateId: string;
  readonly issuanceId: string;
}

const dayMs = 86_400_000;
const leaseMs = 15_000;

/** A validity by days from now. */
export function validity(fromDays: number, toDays: number, now = new Date()): Validity {
  const at = (days: number) => new Date(now.getTime() + days * dayMs);
  return { notBefore: at(fromDays), notAfter: at(toDays) };
}

/** Issues the plan's open issuance by the real attachment; the DER is any bytes. */
export async function attachOpen(
  core: CoreDatabaseFixture,
  planId: string,
  { notBefore, notAfter }: Validity,
  further: Partial<Pick<Attachment, 'renewalInfo' | 'tbsSha256' | 'hasSctList'>> = {},
): Promise<AttachedCertificate> {
  const [[opened]] = await core.database.query<[{ id: string }[], number]>(
    `UPDATE issuance SET due_at = now(), ca_reference = 'reference-' || id
     WHERE plan_id = $1 AND state = 'open' RETURNING id`,
    [planId],
  );
  if (opened === undefined) throw new Error('the plan has an open issuance');
  const { id } = opened;
  const work = await core.leased.lease(id, leaseMs);
  if (work === null) throw new Error('an open issuance that is due can be leased');
  const certificateId = String(randomInt(1, 2 ** 48 - 1));
  const attached = await new Attachments(core.transactions).attach(work.lease, {
    planId,
    accountId: work.issuance.accountId,
    certificateId,
    dnsNames: work.terms.dnsNames,
    keyType: work.terms.keyType,
    serialNumber: randomBytes(16).toString('hex'),
    notBefore,
    notAfter,
    sha256: randomBytes(32),
    spkiSha256: work.terms.spkiSha256,
    leaf: randomBytes(8),
    tbsSha256: randomBytes(32),
    hasSctList: false,
    chain: [Buffer.of(1)],
    root: Buffer.of(2),
    approvals: [],
    ...further,
  });
  if (!attached) throw new Error('the plan is paused or closed');
  return { planId, certificateId, issuanceId: id };
}

/** A plan with a current certificate. */
export async function attachedCertificate(
  core: CoreDatabaseFixture,
  accountId: string,
  valid: Validity,
): Promise<AttachedCertificate> {
  const dnsNames = ['a.example.com'];
  const { planId, termsId } = await core.plan(accountId, dnsNames);
  const opening = { planId, accountId, termsId, revision: 1, dnsNames, settlingMs: 0 };
  await core.transactions.run(async (tx) => await core.issuances.open(tx, opening));
  return await attachOpen(core, planId, valid);
}
