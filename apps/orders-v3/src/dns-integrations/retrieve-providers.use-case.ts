import type { GatewayDescription } from '@certwright/gateway-contract';
import { type HttpResponse, jsonResponse } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { DnsGateway } from './dns-gateway';
import { gatewayProblem } from './gateway-problems';
import { providersJson } from './integration-json';

/** How long a description is used again, ms: all accounts share the rate at which the gateway accepts requests. */
const keptMs = 5_000;

@Injectable()
export class RetrieveProviders {
  /** By account; also those that are being requested. */
  readonly #descriptions = new Map<string, Promise<GatewayDescription>>();

  constructor(private readonly gateway: DnsGateway) {}

  /** Empty without a gateway. @throws Problem `service_outage` */
  async run(accountId: string): Promise<HttpResponse> {
    try {
      return jsonResponse(200, providersJson((await this.description(accountId)) ?? null));
    } catch (error) {
      throw gatewayProblem(error);
    }
  }

  private async description(accountId: string): Promise<GatewayDescription | undefined> {
    const known = this.#descriptions.get(accountId);
    if (known !== undefined || this.gateway.client === null) return await known;
    const description = this.gateway.client.describe(accountId);
    this.#descriptions.set(accountId, description);
    const forget = () => this.#descriptions.delete(accountId);
    description.then(() => setTimeout(forget, keptMs).unref(), forget);
    return await description;
  }
}
