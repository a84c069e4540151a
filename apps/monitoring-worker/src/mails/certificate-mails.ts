import type { Tx } from '@certwright/core-schema';
import { type AccountMail, maxCertificatesInMail } from '@certwright/delivery';
import { isMonitored } from '../alerts/due-alerts.repository';
import {
  certificateMail,
  type GatheredKind,
  type MailMode,
  type MailOccasion,
} from '../gathered-mail/gathered-mail';

/** Unknown certificates. */
export const certificateMails: GatheredKind = {
  columns: certificateMail,

  /** Those that are no longer unknown or monitored, or whose account wants no mail, are not mailed later either. */
  async take(tx: Tx, accountId: string, mode: MailMode): Promise<readonly string[]> {
    await tx.query(
      `UPDATE monitoring_finding AS finding SET mail_due = false
       WHERE account_id = $1 AND mail_due AND (state <> 'unknown' OR $2 = 'off' OR NOT ${isMonitored})`,
      [accountId, mode],
    );
    const [rows] = await tx.query<[{ tbs: string }[], number]>(
      // Without MATERIALIZED, a nested loop would repeat the limited selection.
      `WITH oldest AS MATERIALIZED (
         SELECT tbs_sha256 FROM monitoring_finding WHERE account_id = $1 AND mail_due
         ORDER BY found_at, tbs_sha256 LIMIT $2 FOR UPDATE)
       UPDATE monitoring_finding AS finding SET mail_due = false
       FROM oldest WHERE finding.account_id = $1 AND finding.tbs_sha256 = oldest.tbs_sha256
       RETURNING encode(finding.tbs_sha256, 'hex') AS tbs`,
      [accountId, maxCertificatesInMail],
    );
    return rows.map(({ tbs }) => tbs);
  },

  async hasMore(tx: Tx, accountId: string): Promise<boolean> {
    const rest: unknown[] = await tx.query(
      `SELECT 1 FROM monitoring_finding WHERE account_id = $1 AND mail_due LIMIT 1`,
      [accountId],
    );
    return rest.length > 0;
  },

  mailOf(accountId: string, tbsSha256: readonly string[], occasion: MailOccasion): AccountMail {
    return { accountId, kind: 'monitoring-certificates', facts: { tbsSha256, occasion } };
  },
};
