import { randomInt } from 'node:crypto';
import { Problem } from '@certwright/errors';
import { type Gateway, GatewayFault } from '@certwright/gateway-client';
import type { IntegrationOwner, Zone } from '@certwright/gateway-contract';
import { DnsIntegrations, nextZonesAt } from '@certwright/dns-integrations';
import { type Tx } from '@certwright/core-schema';
import { type WriteRequest } from '@certwright/idempotency';
import {
  type HttpResponse,
  jsonResponse,
  type JsonResponse,
  type ReadMembers,
  validMembers,
} from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Addresses } from '../wire/addresses';
import { DnsGateway } from './dns-gateway';
import { tooManyIntegrations } from '../wire/problems';
import { creationProblem } from './gateway-problems';
import { integrationJson } from './integration-json';
import type { IntegrationRequest } from './integration-request';
import { ReservedWork } from './reserved-work';

/** Positive, random, and exact as a JSON number. */
const ids = { min: 1, below: 2 ** 48 - 1 };

interface Made {
  readonly owner: IntegrationOwner;
  readonly description: string;
  readonly handle: string;
  /** Null: they could not be listed; the worker does it as soon as it can. */
  readonly zones: readonly Zone[] | null;
}

@Injectable()
export class CreateIntegration {
  constructor(
    private readonly gateway: DnsGateway,
    private readonly integrations: DnsIntegrations,
    private readonly requests: ReservedWork,
    private readonly addresses: Addresses,
  ) {}

  /**
   * The credentials are only passed to the gateway. It returns a handle that only the gateway opens, which is stored.
   *
   * @throws Problem `bad_request` with everything that is wrong, also when the provider refuses the credentials;
   *   `conflict` when the account has as many as it may; `rate_limited`, `service_outage`, `provider_…`
   */
  async run(
    write: WriteRequest,
    body: ReadMembers<IntegrationRequest>,
    withZones: boolean,
  ): Promise<HttpResponse> {
    return await this.requests.run(
      write,
      async () => {
        const { client } = this.gateway;
        const request = validMembers(body);
        if (client === null) throw noGateway();
        const { accountId } = write;
        return await this.gateway.atProvider(
          accountId,
          async () => await this.make(client, accountId, request),
        );
      },
      async (tx, made) => await this.store(tx, made, withZones),
    );
  }

  private async make(client: Gateway, account: string, request: IntegrationRequest): Promise<Made> {
    const { provider, description, credentials } = request;
    // A request uses up an OAuth code, so check first whether it can succeed.
    if (!(await this.integrations.hasRoom(account))) throw tooManyIntegrations();
    const owner = { account, provider, integration_id: String(randomInt(ids.min, ids.below)) };
    try {
      const { integration } = await client.makeIntegration({ ...owner, credentials });
      return { owner, description, ...(await zonesOf(client, owner, integration)) };
    } catch (error) {
      throw creationProblem(error, provider);
    }
  }

  private async store(
    tx: Tx,
    { owner, description, handle, zones }: Made,
    withZones: boolean,
  ): Promise<JsonResponse> {
    const integration = await this.integrations.create(tx, {
      id: owner.integration_id,
      accountId: owner.account,
      provider: owner.provider,
      description,
      handle,
      zones,
      zonesDueAt: nextZonesAt(new Date(), 0),
    });
    if (integration === null) throw tooManyIntegrations();
    const location = this.addresses.dnsIntegration(integration.id);
    return jsonResponse(201, integrationJson(integration, withZones ? (zones ?? []) : null), { location });
  }
}

/** The created integration is kept, whether its zones can be listed now or not. */
async function zonesOf(
  client: Gateway,
  owner: IntegrationOwner,
  integration: string,
): Promise<Pick<Made, 'handle' | 'zones'>> {
  try {
    const listed = await client.getZones({ ...owner, integration });
    return { handle: listed.integration ?? integration, zones: listed.zones };
  } catch (error) {
    if (!(error instanceof GatewayFault)) throw error;
    return { handle: error.integration ?? integration, zones: null };
  }
}

/** Without a gateway, the list of providers is empty, so no provider is valid. */
function noGateway(): Problem {
  return Problem.ofFields([
    {
      field: 'provider',
      code: 'invalid_value',
      message: 'No DNS provider can be integrated here: this deployment has no DNS gateway.',
    },
  ]);
}
