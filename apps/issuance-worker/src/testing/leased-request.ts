import type { Terms } from '@certwright/issuance';
import { LeasedIssuances } from '@certwright/ordering';
import type { DataSource } from 'typeorm';
import type { CertificateRequest } from '../certificate-authorities/certificate-authority';
import { certificateRequest } from '../issuance/certificate-request';
import { HeldLease } from '../issuance/held-lease';
import type { OpenedIssuance } from './opened-issuance';

/** Longer than any test runs. */
const leaseMs = 600_000;

export interface LeasedRequest {
  readonly request: CertificateRequest;
  readonly terms: Terms;
}

/**
 * The request of a worker that has just leased the issuance, with every name approved by its DNS record. The previous
 * holder has lost the lease.
 */
export async function leasedRequest(
  database: DataSource,
  { issuanceId }: Pick<OpenedIssuance, 'issuanceId'>,
): Promise<LeasedRequest> {
  await database.query(`UPDATE issuance SET leased_until = NULL, due_at = now() WHERE id = $1`, [issuanceId]);
  const issuances = new LeasedIssuances(database);
  const work = await issuances.lease(issuanceId, leaseMs);
  if (work === null) throw new Error(`issuance ${issuanceId} cannot be leased`);
  const leasedAtMs = performance.now();
  const approvals = work.issuance.approvals.map((approval) => {
    return { ...approval, status: 'approved', method: 'dns', checkedAt: work.now.toISOString() } as const;
  });
  const request = certificateRequest({
    ...work,
    issuance: { ...work.issuance, approvals },
    held: new HeldLease(issuances, work.lease, leaseMs),
    clock: () => new Date(work.now.getTime() + performance.now() - leasedAtMs),
    stalledSince: null,
    refusals: [],
    keyBlocked: false,
    trial: null,
    begun: null,
    pause: async () => await Promise.resolve(false),
  });
  return { request, terms: work.terms };
}
