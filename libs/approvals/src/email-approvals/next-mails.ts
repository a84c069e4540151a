import type { NameApproval } from '@certwright/issuance';
import { type Tx, nextMailAt, throttleWindowMs } from '@certwright/core-schema';

interface AskedRow {
  readonly asked_at: Date | null;
  readonly approved_at: Date | null;
  readonly recent: readonly string[];
  readonly now: Date;
}

/**
 * Time until one of the mailboxes that the names wait for can be sent another mail.
 *
 * @returns seconds; null: a mail can be sent now, or other pending names can be checked
 */
export async function secondsToNextMail(
  tx: Tx,
  planId: string,
  approvals: readonly NameApproval[],
): Promise<number | null> {
  const pending = approvals.filter(({ status }) => status !== 'approved');
  const requested = pending.flatMap(({ dnsName, way }) =>
    way?.method === 'email' && way.approverEmail !== null ? [{ dnsName, address: way.approverEmail }] : [],
  );
  if (requested.length === 0 || requested.length < pending.length) return null;
  const rows = await tx.query<AskedRow[]>(statement, [
    planId,
    requested.map(({ dnsName }) => dnsName),
    requested.map(({ address }) => address),
    throttleWindowMs,
  ]);
  const waitsMs = rows.map(({ asked_at: askedAt, approved_at: approvedAt, recent, now }) => {
    const at = nextMailAt(
      { askedAt, approvedAt },
      recent.map((text) => new Date(text)),
      now,
    );
    return at === null ? 0 : at.getTime() - now.getTime();
  });
  const waitMs = Math.min(...waitsMs);
  return waitMs <= 0 ? null : Math.ceil(waitMs / 1_000);
}

/** Mails of the last day count as in `EmailApprovals.request`: over all accounts, without canceled ones. */
const statement = `
  SELECT approval.asked_at, approval.approved_at, clock_timestamp() AS now,
    (SELECT coalesce(jsonb_agg(mail.created_at ORDER BY mail.created_at), '[]') FROM mail
     WHERE mail.recipient = mailbox.address AND mail.kind = 'approval-request' AND mail.state <> 'canceled'
       AND mail.created_at > clock_timestamp() - $4 * interval '1 millisecond') AS recent
  FROM unnest($2::text[], $3::text[]) AS mailbox (dns_name, address)
  LEFT JOIN email_approval AS approval ON approval.plan_id = $1 AND approval.dns_name = mailbox.dns_name
    AND approval.address = mailbox.address`;
