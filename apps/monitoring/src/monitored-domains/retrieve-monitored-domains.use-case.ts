import { Problem } from '@certwright/errors';
import { type HttpResponse, jsonResponse } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { noSuchMonitoredDomain } from '../wire/problems';
import { isPathOfList, nameInPath } from './monitored-domain';
import { MonitoredDomains } from './monitored-domains.repository';

@Injectable()
export class RetrieveMonitoredDomains {
  constructor(private readonly domains: MonitoredDomains) {}

  /** All of them: clients read the list once. */
  async all(accountId: string): Promise<HttpResponse> {
    return jsonResponse(200, await this.domains.ofAccount(accountId));
  }

  /** @throws Problem `not_found`; `bad_request` for a name that no object can have */
  async one(accountId: string, text: string): Promise<HttpResponse> {
    if (isPathOfList(text)) return await this.all(accountId);
    const { name, fault } = nameInPath(text);
    const found = await this.domains.get(accountId, name);
    if (found !== null) return jsonResponse(200, found);
    throw fault === null ? noSuchMonitoredDomain() : Problem.ofFields([fault]);
  }
}
