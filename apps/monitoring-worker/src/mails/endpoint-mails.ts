import type { Tx } from '@certwright/core-schema';
import { type AccountMail, maxEndpointsInMail } from '@certwright/delivery';
import { monitoredOf } from '../endpoints/due-endpoints.repository';
import {
  endpointMail,
  type GatheredKind,
  type MailMode,
  type MailOccasion,
} from '../gathered-mail/gathered-mail';

/** Reports about endpoints. */
export const endpointMails: GatheredKind = {
  columns: endpointMail,

  /** Those of endpoints that were deleted or muted, or are no longer monitored, are not mailed later either. */
  async take(tx: Tx, accountId: string, mode: MailMode): Promise<readonly string[]> {
    const taken: string[] = [];
    while (taken.length < maxEndpointsInMail) {
      const [rows] = await tx.query<[{ id: string; dnsName: string; isShown: boolean }[], number]>(
        `WITH oldest AS MATERIALIZED (
           SELECT id FROM endpoint_report WHERE account_id = $1 AND mail_due ORDER BY id LIMIT $2 FOR UPDATE)
         UPDATE endpoint_report AS report SET mail_due = false FROM oldest WHERE report.id = oldest.id
         RETURNING report.id, report.dns_name AS "dnsName", EXISTS (
           SELECT 1 FROM monitored_endpoint AS endpoint WHERE endpoint.account_id = $1
             AND endpoint.dns_name = report.dns_name AND NOT endpoint.muted) AS "isShown"`,
        [accountId, maxEndpointsInMail - taken.length],
      );
      if (rows.length === 0) break;
      if (mode === 'off') continue;
      const monitored = await monitoredOf(
        tx,
        rows.map(({ dnsName }) => ({ account: accountId, dnsName })),
      );
      taken.push(
        ...rows
          .filter(({ dnsName, isShown }) => isShown && monitored.has(`${accountId}:${dnsName}`))
          .map(({ id }) => id),
      );
    }
    return taken.sort((one, other) => Number(one) - Number(other));
  },

  async hasMore(tx: Tx, accountId: string): Promise<boolean> {
    const rest: unknown[] = await tx.query(
      `SELECT 1 FROM endpoint_report WHERE account_id = $1 AND mail_due LIMIT 1`,
      [accountId],
    );
    return rest.length > 0;
  },

  mailOf(accountId: string, reportIds: readonly string[], occasion: MailOccasion): AccountMail {
    return { accountId, kind: 'monitoring-endpoints', facts: { reportIds, occasion } };
  },
};
