import { Injectable } from '@nestjs/common';
import { type HttpResponse, jsonResponse } from '../wire/response';
import { DnsGateway } from './dns-gateway';
import { gatewayProblem } from './gateway-problems';
import { providersJson } from './integration-json';

@Injectable()
export class RetrieveProviders {
  constructor(private readonly gateway: DnsGateway) {}

  /** Empty without a gateway. @throws Problem `service_outage` */
  async run(accountId: string): Promise<HttpResponse> {
    try {
      const description = await this.gateway.client?.describe(accountId);
      return jsonResponse(200, providersJson(description ?? null));
    } catch (error) {
      throw gatewayProblem(error);
    }
  }
}
