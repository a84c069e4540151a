import { DnsIntegrations } from '@certwright/dns-integrations';
import { Injectable } from '@nestjs/common';
import { type HttpResponse, jsonResponse } from '../wire/response';
import { isObjectId } from '../wire/request-parameters';
import { noSuchIntegration } from '../wire/problems';
import { Expand } from '../wire/query-members';
import { integrationJson } from './integration-json';

export class IntegrationQuery {
  @Expand('zones')
  expand: readonly string[] = [];
}

@Injectable()
export class RetrieveIntegrations {
  constructor(private readonly integrations: DnsIntegrations) {}

  /** All of them, oldest first: there are few. */
  async all(accountId: string, withZones: boolean): Promise<HttpResponse> {
    const found = await this.integrations.ofAccount(accountId);
    const ids = found.map(({ id }) => id);
    const zones = withZones ? await this.integrations.zonesOf(accountId, ids) : null;
    const shown = found.map((each) => integrationJson(each, zones && (zones.get(each.id) ?? [])));
    return jsonResponse(200, shown);
  }

  /** @throws Problem `not_found` */
  async one(accountId: string, id: string, withZones: boolean): Promise<HttpResponse> {
    const integration = isObjectId(id) ? await this.integrations.get(accountId, id) : null;
    if (integration === null) throw noSuchIntegration();
    const zones = withZones ? await this.integrations.zonesOf(accountId, [id]) : null;
    return jsonResponse(200, integrationJson(integration, zones && (zones.get(id) ?? [])));
  }
}
