import { advanceIssuance, causeOfRow, type TracedRow } from '@certwright/jobs';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import {
  requestRecordChecks,
  Outbox,
  tracedColumns,
  type Tx,
  wakePlan,
  wakeWhere,
} from '@certwright/core-schema';

/** Makes open issuances due now: a client requested it, or the event they waited for has happened. */
@Injectable()
export class IssuanceWakeUps {
  constructor(
    private readonly database: DataSource,
    private readonly outbox: Outbox,
  ) {}

  /**
   * Starts an attempt at the open issuance now instead of at its next due time, however often it has failed. If it is
   * being attempted, it is attempted again afterwards. If it waits for a CA, it keeps waiting, and the CA gets no
   * request. Mailboxes that have not approved get another mail, and missing records are tried again.
   */
  async wakePlan(tx: Tx, planId: string): Promise<void> {
    await tx.query(`${requestRecordChecks('$1')} AND state = 'wanted'`, [planId]);
    const [rows] = await tx.query<[{ id: string; lease_token: string }[], number]>(wakePlan('$1'), [planId]);
    for (const { id, lease_token } of rows) await this.outbox.add(tx, advanceIssuance(id, lease_token));
  }

  /**
   * Wakes the open issuances of every plan that uses an approval record: it was published or removed. Each continues
   * the trace of its own request, since many share the record.
   */
  async wakeUsersOfRecord(tx: Tx, recordId: string): Promise<void> {
    const [rows] = await tx.query<[({ id: string; lease_token: string } & TracedRow)[], number]>(
      `${wakeWhere('plan_id IN (SELECT plan_id FROM approval_record_use WHERE record_id = $1)')} AND failures = 0
       RETURNING id, lease_token ${tracedColumns('opened_at')}`,
      [recordId],
    );
    for (const row of rows)
      await this.outbox.add(tx, { ...advanceIssuance(row.id, row.lease_token), ...causeOfRow(row) });
  }

  /** Wakes the open issuances of an account that wait for an approval: its integrations have new zones. */
  async wakeUnapproved(accountId: string): Promise<void> {
    await this.database.query(
      `${wakeWhere('account_id = $1')} AND failures = 0 AND approvals @> '[{"status": "pending"}]'`,
      [accountId],
    );
  }
}
