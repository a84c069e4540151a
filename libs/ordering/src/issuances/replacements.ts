import type { ApprovalWay } from '@certwright/issuance';
import type { Tx } from '@certwright/core-schema';
import { pendingApproval } from './pending-approval';

/** A certificate that is to be replaced by one of the plan's present terms. */
export interface Replacement {
  readonly planId: string;
  readonly accountId: string;
  readonly termsId: string;
  readonly revision: number;
  readonly dnsNames: readonly string[];
  /** Of the terms; null: any way. */
  readonly approvalWays: Readonly<Record<string, ApprovalWay>> | null;
  /** End of the paid time; null: not sold by time. */
  readonly expiresBy: Date | null;
  /** The certificate that is replaced. */
  readonly certificateId: string;
}

/**
 * Opens issuances that replace certificates, due now. Once per certificate (issuance_one_replacement), and only if no
 * issuance is under way, since that replaces it already. The caller holds the plans' rows.
 *
 * @returns the ids of those that were opened
 */
export async function openReplacements(
  tx: Tx,
  replacements: readonly Replacement[],
): Promise<readonly string[]> {
  if (replacements.length === 0) return [];
  const rows = await tx.query<{ id: string }[]>(
    `INSERT INTO issuance
       (plan_id, account_id, terms_id, revision, replaces_certificate_id, state, approvals, due_at, expires_by)
     SELECT plan_id, account_id, terms_id, revision, certificate_id, 'open', approvals, clock_timestamp(), expires_by
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::bigint[], $6::jsonb[], $7::timestamptz[])
       AS replacement (plan_id, account_id, terms_id, revision, certificate_id, approvals, expires_by)
     ON CONFLICT DO NOTHING RETURNING id`,
    [
      replacements.map(({ planId }) => planId),
      replacements.map(({ accountId }) => accountId),
      replacements.map(({ termsId }) => termsId),
      replacements.map(({ revision }) => revision),
      replacements.map(({ certificateId }) => certificateId),
      replacements.map(({ dnsNames, approvalWays }) =>
        JSON.stringify(dnsNames.map((dnsName) => pendingApproval(dnsName, approvalWays))),
      ),
      replacements.map(({ expiresBy }) => expiresBy),
    ],
  );
  return rows.map(({ id }) => id);
}
