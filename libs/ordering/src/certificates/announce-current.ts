import { type Certificate, nextReplacement, renewalJitter, renewalTime } from '@certwright/issuance';
import { currentCertificateChanged, currentInstanceChanged, type Job } from '@certwright/jobs';
import { addToOutbox } from '@certwright/core-schema';
import type { PlanOwner } from '@certwright/core-schema';
import { type PaidColumns, paidColumns, paidOf } from '@certwright/billing';
import type { Tx } from '@certwright/core-schema';

/**
 * Notifies the plan's owner, in the same transaction, that the current certificate changed (possibly to none). Sets
 * when the new one is replaced, and whether the running term pays for it.
 *
 * @param lapsedAt when the last one expired without a successor, it is still to be replaced; null: it did not
 */
export async function announceCurrent(
  tx: Tx,
  planId: string,
  current: Pick<Certificate, 'id' | 'notBefore' | 'notAfter'> | null,
  lapsedAt: Date | null = null,
): Promise<void> {
  const renewAt = current === null ? lapsedAt : renewalTime(current, renewalJitter(current.id));
  const [rows] = await tx.query<[AnnouncedRow[], number]>(
    `UPDATE plan SET current_version = current_version + 1, renew_at = $2,
       replacement_paid = replacement_paid AND $4::boolean,
       announced_version = CASE WHEN ${hasWebhooks} THEN announced_version ELSE current_version + 1 END
     WHERE id = $1
     RETURNING owner, current_version AS version, announced_version < current_version AS wanted, ${paidColumns},
       (SELECT term_days FROM terms JOIN product ON product.name = terms.product
        WHERE terms.id = plan.terms_id) AS term_days,
       (SELECT terms.product FROM certificate JOIN issuance ON issuance.id = certificate.issuance_id
        JOIN terms ON terms.id = issuance.terms_id
        WHERE plan.paid_through IS NOT NULL AND certificate.id = $3) AS own_product`,
    [planId, renewAt, current?.id ?? null, current === null && lapsedAt !== null],
  );
  for (const row of rows) {
    if (current !== null) await setReplacement(tx, planId, current, row);
    if (row.wanted) await addToOutbox(tx, currentChanged[row.owner](planId, row.version));
  }
}

interface AnnouncedRow extends PaidColumns {
  readonly owner: PlanOwner;
  readonly version: number;
  readonly wanted: boolean;
  /** Null without terms, and when not sold by time. */
  readonly term_days: number | null;
  /** Of the certificate's own terms; null also without a paid term. */
  readonly own_product: string | null;
}

/** A second statement only for products sold by time. */
async function setReplacement(
  tx: Tx,
  planId: string,
  current: Pick<Certificate, 'id' | 'notBefore' | 'notAfter'>,
  { term_days: termDays, own_product, ...columns }: AnnouncedRow,
): Promise<void> {
  const paid = paidOf(columns);
  if (paid === null && termDays === null) return;
  const own = own_product === null ? null : { product: own_product };
  const { renewAt, isPaid } = nextReplacement(current, { own, paid, termDays });
  await tx.query(`UPDATE plan SET renew_at = $2, replacement_paid = $3 WHERE id = $1`, [
    planId,
    renewAt,
    isPaid,
  ]);
}

/** Each owner listens on its own queue. */
const currentChanged = {
  'orders-v3': currentCertificateChanged,
  'certs-v2': currentInstanceChanged,
} as const satisfies Record<PlanOwner, (planId: string, revision: number) => Job>;

/** Without subscribers no event is written and no job runs. */
const hasWebhooks = `EXISTS (
  SELECT 1 FROM webhook_endpoint WHERE webhook_endpoint.account_id = plan.account_id AND webhook_endpoint.enabled)`;
