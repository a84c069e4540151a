import { Transactions } from '@certwright/core-schema';
import { AccountEvents } from '@certwright/delivery';
import { Injectable } from '@nestjs/common';
import { keyOf } from '../findings/known-facts';
import { lockTask, type TaskLease } from '../tasks/task-leases';
import { AlertMetrics } from './alert-metrics';
import { DueAlerts } from './due-alerts.repository';
import { PrepareAlerts } from './prepare-alerts';

/** Findings that are alerted in one transaction. */
const maxAlerts = 500;

/** Enqueues the alerts of due findings. */
@Injectable()
export class SendAlerts {
  constructor(
    private readonly dueAlerts: DueAlerts,
    private readonly preparing: PrepareAlerts,
    private readonly events: AccountEvents,
    private readonly transactions: Transactions,
    private readonly metrics: AlertMetrics,
  ) {}

  /** @returns how many findings are no longer due */
  async send(lease: TaskLease): Promise<number> {
    const due = await this.dueAlerts.due(maxAlerts);
    if (due.length === 0) return 0;
    const ready = new Map(
      (await this.preparing.prepare(due)).map((each) => [
        keyOf(each.finding.account, each.finding.tbsSha256),
        each,
      ]),
    );
    const ids = [...ready.values()].map(({ finding }) => finding);
    const sent = await this.transactions.run(async (tx) => {
      await lockTask(tx, lease);
      const locked = await this.dueAlerts.lock(tx, ids);
      const toSend = locked.flatMap(({ isSent, account, tbsSha256 }) =>
        isSent ? (ready.get(keyOf(account, tbsSha256)) ?? []) : [],
      );
      // Before the deliveries: like every transaction, this one locks the counters of accounts before their schedules.
      await this.dueAlerts.markSent(
        tx,
        toSend.map(({ finding, alert }) => ({ ...finding, alert })),
      );
      await this.events.enqueue(
        tx,
        toSend.map(({ finding: { account, tbsSha256 }, body }) => ({
          accountId: account,
          event: 'monitoring.unknown_certificate',
          subject: `finding:${tbsSha256.toString('hex')}`,
          body,
        })),
      );
      await this.dueAlerts.markUnsent(
        tx,
        locked.filter(({ isSent }) => !isSent),
      );
      return toSend;
    });
    for (const { discoveredAt } of sent) this.metrics.alerted(discoveredAt);
    return ids.length;
  }
}
