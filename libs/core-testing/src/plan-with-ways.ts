import { randomBytes } from 'node:crypto';
import type { ApprovalWay } from '@certwright/issuance';
import type { NewTerms } from '@certwright/ordering';
import type { CoreDatabaseFixture } from './core-database';

type Ways = Readonly<Record<string, ApprovalWay>>;

const noContact = { approverEmail: null, recordAt: null };
export const byDns: ApprovalWay = { method: 'dns', ...noContact };
export const byHttp: ApprovalWay = { method: 'http', ...noContact };
export const byEmail = (approverEmail: string): ApprovalWay => ({
  ...noContact,
  method: 'email',
  approverEmail,
});

export interface PlanWithWays {
  readonly planId: string;
  readonly accountId: string;
  readonly termsId: string;
  readonly issuanceId: string;
  /** What the plan's terms say besides names and ways. */
  readonly certified: Pick<NewTerms, 'product' | 'keyType' | 'csr' | 'spkiSha256' | 'approverEmails'>;
}

/** A plan whose terms say how each of its names is to be approved, and its open issuance. */
export async function planWithWays(
  core: CoreDatabaseFixture,
  accountId: string,
  ways: Ways,
): Promise<PlanWithWays> {
  const dnsNames = Object.keys(ways);
  const key = { keyType: 'ecdsa', csr: randomBytes(8), spkiSha256: randomBytes(32) } as const;
  const certified = { product: 'paid_ca', approverEmails: {}, ...key };
  return await core.transactions.run(async (tx) => {
    const downloadToken = randomBytes(20).toString('base64url');
    const flags = { autoRenew: true, muted: false, paused: false, owner: 'certs-v2' } as const;
    const planId = await core.plans.create(tx, { accountId, downloadToken, ...flags });
    const termsId = await core.plans.setTerms(tx, planId, { ...certified, dnsNames, approvalWays: ways });
    const opening = { planId, accountId, termsId, revision: 1, dnsNames, settlingMs: 0 };
    const issuanceId = await core.issuances.open(tx, { ...opening, approvalWays: ways });
    return { planId, accountId, termsId, issuanceId, certified };
  });
}

/** The plan's terms say something else from now on; what is under way stays as it is. */
export async function sayOtherwise(
  core: CoreDatabaseFixture,
  { planId, certified }: PlanWithWays,
  ways: Ways | null,
  also: Partial<NewTerms> & Pick<NewTerms, 'dnsNames'>,
): Promise<string> {
  return await core.transactions.run(
    async (tx) => await core.plans.setTerms(tx, planId, { ...certified, approvalWays: ways, ...also }),
  );
}
