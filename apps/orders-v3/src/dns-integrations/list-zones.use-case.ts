import { LeaseLost } from '@certwright/postgres';
import { setTimeout as delay } from 'node:timers/promises';
import { type Gateway, GatewayFault } from '@certwright/gateway-client';
import {
  DnsIntegrations,
  type IntegrationProgress,
  LeasedIntegrations,
  type LeasedIntegration,
} from '@certwright/dns-integrations';
import { type HttpResponse, isObjectId, jsonResponse, repeatDuringOutage } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { DnsGateway } from './dns-gateway';
import { noSuchIntegration } from '../wire/problems';
import { afterFault, afterListing, gatewayProblem } from './gateway-problems';
import { zoneJson } from './integration-json';

/** Longer than one message to the gateway. */
const leaseMs = 45_000;
/** The worker may hold the lease: what it does mostly takes a second or two. */
const waiting = { everyMs: 200, times: 15 };

@Injectable()
export class ListZones {
  constructor(
    private readonly gateway: DnsGateway,
    private readonly integrations: DnsIntegrations,
    private readonly leases: LeasedIntegrations,
  ) {}

  /**
   * The provider's current list; the last known list while another process holds the lease, or without a gateway.
   *
   * @throws Problem `not_found`, `rate_limited`, `service_outage`, `provider_…`
   */
  async run(accountId: string, id: string): Promise<HttpResponse> {
    await this.assertExists(accountId, id);
    const { client } = this.gateway;
    if (client !== null)
      await this.gateway.atProvider(accountId, async () => {
        const leased = await this.lease(id);
        if (leased !== null) await this.refresh(client, leased);
      });
    // It may have been deleted meanwhile.
    await this.assertExists(accountId, id);
    const zones = await this.integrations.zonesOf(accountId, [id]);
    return jsonResponse(200, (zones.get(id) ?? []).map(zoneJson));
  }

  private async assertExists(accountId: string, id: string): Promise<void> {
    const found = isObjectId(id) && (await this.integrations.get(accountId, id)) !== null;
    if (!found) throw noSuchIntegration();
  }

  private async lease(id: string): Promise<LeasedIntegration | null> {
    for (let turn = 0; turn < waiting.times; turn += 1) {
      const leased = await this.leases.lease(id, leaseMs);
      if (leased !== null) return leased;
      await delay(waiting.everyMs);
    }
    return null;
  }

  private async refresh(client: Gateway, leased: LeasedIntegration): Promise<void> {
    const { id, accountId: account, provider, handle } = leased.integration;
    try {
      const owner = { account, provider, integration_id: id };
      const { zones, integration: resealed } = await client.getZones({ ...owner, integration: handle });
      await this.save(leased, afterListing(leased, zones, resealed));
    } catch (error) {
      if (error instanceof GatewayFault) await this.save(leased, afterFault(leased, error));
      throw gatewayProblem(error);
    }
  }

  private async save({ lease }: LeasedIntegration, progress: IntegrationProgress): Promise<void> {
    const save = async () => await this.leases.save(lease, progress, 'release');
    try {
      await save();
    } catch (error) {
      // The new holder of the lease stores the provider's list.
      if (error instanceof LeaseLost) return;
      // The provider may accept no other handle than a new one, so it must not be lost.
      void repeatDuringOutage(save, { forMs: leaseMs }).catch(() => undefined);
      throw error;
    }
  }
}
