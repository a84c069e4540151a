import type { Tx } from '@certwright/core-schema';
import { AccountEvents, Mails } from '@certwright/delivery';
import { timestamp } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import type { FindingAccount, FindingTime } from './finding-accounts';
import type { FoundEndpoint } from './found-endpoints';

/** What is reported when findings are recorded. */
@Injectable()
export class FindingEvents {
  constructor(
    private readonly events: AccountEvents,
    private readonly mails: Mails,
  ) {}

  /** Only webhooks that selected the event by its name receive it. */
  async reportNewEndpoints(
    tx: Tx,
    added: readonly Pick<FoundEndpoint, 'account' | 'dnsName'>[],
    accounts: ReadonlyMap<string, FindingAccount>,
  ): Promise<void> {
    await this.events.enqueue(
      tx,
      added
        .filter(({ account }) => accounts.get(account)?.isDisabled === false)
        .map(({ account, dnsName }) => ({
          accountId: account,
          event: 'monitoring.new_endpoint',
          subject: `new_endpoint:${dnsName}`,
          body: JSON.stringify({ dns_name: dnsName, muted: false, ports: [443] }),
        })),
    );
  }

  /** Once a day per account. */
  async reportOverflows(
    tx: Tx,
    accounts: readonly FindingAccount[],
    { now, day }: FindingTime,
  ): Promise<void> {
    const over = accounts.filter(
      ({ isDisabled, throttled, isOverflowReported }) => throttled > 0 && !isOverflowReported && !isDisabled,
    );
    const endOfDay = new Date(Date.parse(day) + 24 * 60 * 60 * 1_000);
    for (const account of over) account.isOverflowReported = true;
    await this.events.enqueue(
      tx,
      over.map(({ id, maxFindings, throttled }) => ({
        accountId: id,
        event: 'monitoring.overflow',
        subject: `overflow:${day}`,
        body: JSON.stringify({
          since: timestamp(now),
          until: timestamp(endOfDay),
          limit: maxFindings,
          throttled,
        }),
      })),
    );
    for (const { id, throttled, isMailed } of over) {
      if (!isMailed) continue;
      const facts = { since: now.toISOString(), counted: throttled };
      await this.mails.enqueueToAccount(tx, { accountId: id, kind: 'monitoring-overflow', facts });
    }
  }
}
