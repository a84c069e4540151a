import { baseName } from '@certwright/dns-names';
import { Delegations, EmailApprovals, WebRules } from '@certwright/approvals';
import { MonitoredEndpoints } from '@certwright/monitored-endpoints';
import { Issuances } from '@certwright/ordering';
import { type Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import type { RequestedMailbox, IssuanceContext } from './issuance-json';
import type { StoredOrder } from './order';
import { endpointsOfOrders } from './order-endpoints';

/** Reads what the member `issuance` is made of, in a number of queries that does not depend on the number of orders. */
@Injectable()
export class IssuanceContextReader {
  constructor(
    private readonly issuances: Issuances,
    private readonly delegations: Delegations,
    private readonly webRules: WebRules,
    private readonly emailApprovals: EmailApprovals,
    private readonly monitored: MonitoredEndpoints,
  ) {}

  /**
   * @param orders of one account
   * @param tx the open transaction, when there is one: everything is read on its connection
   * @returns plan id → context
   */
  async of(
    orders: readonly StoredOrder[],
    now: Date,
    tx?: Tx,
  ): Promise<ReadonlyMap<string, IssuanceContext>> {
    const [first] = orders;
    if (first === undefined) return new Map();
    const planIds = orders.map(({ planId }) => planId);
    const names = new Set(orders.flatMap(({ dnsNames }) => dnsNames.map(baseName)));
    const labels = await this.delegations.ofNames(first.accountId, [...names], tx);
    const latests = await this.issuances.latestOf(planIds, tx);
    const mailboxes = await this.mailboxesOf(orders, tx);
    const ruleSecret = await this.webRules.ofAccount(first.accountId, tx);
    const dnsNames = new Set(orders.flatMap((order) => order.dnsNames));
    const endpoints = endpointsOfOrders(
      orders,
      await this.monitored.ofNames(first.accountId, [...dnsNames], tx),
    );
    const latestOf = new Map(latests.map((issuance) => [issuance.planId, issuance]));
    return new Map(
      planIds.map((planId) => [
        planId,
        {
          latest: latestOf.get(planId) ?? null,
          labels,
          ruleSecret,
          mailboxes: mailboxes.get(planId) ?? [],
          endpoints: endpoints.get(planId) ?? null,
          now,
        },
      ]),
    );
  }

  /** Only orders with approvers have mailboxes. @returns plan id → its mailboxes */
  private async mailboxesOf(
    orders: readonly StoredOrder[],
    tx?: Tx,
  ): Promise<ReadonlyMap<string, readonly RequestedMailbox[]>> {
    const planIds = orders
      .filter(({ approverEmails }) => Object.keys(approverEmails).length > 0)
      .map(({ planId }) => planId);
    const byPlan = new Map(planIds.map((planId) => [planId, [] as RequestedMailbox[]]));
    const mailboxes = planIds.length === 0 ? [] : await this.emailApprovals.ofPlans(planIds, tx);
    for (const mailbox of mailboxes) byPlan.get(mailbox.planId)?.push(mailbox);
    return byPlan;
  }
}
