import type { GatewayDescription } from '@certwright/gateway-contract';
import { Injectable } from '@nestjs/common';
import { type Answer, jsonAnswer } from '../wire/answer';
import { noProvidersJson, providersJson } from '../wire/dns-integration-json';
import { DnsGateway } from './dns-gateway';
import { gatewayProblem } from './gateway-answers';

@Injectable()
export class RetrieveProviders {
  constructor(private readonly gateway: DnsGateway) {}

  /** None, where there is no gateway. @throws Problem `service_outage` */
  async run(accountId: string): Promise<Answer> {
    const { client } = this.gateway;
    if (client === null) return jsonAnswer(200, noProvidersJson);
    let description: GatewayDescription;
    try {
      description = await client.describe(accountId);
    } catch (error) {
      throw gatewayProblem(error);
    }
    return jsonAnswer(200, providersJson(description));
  }
}
