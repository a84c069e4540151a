import { Problem } from '@certwright/errors';
import { type HttpResponse, jsonResponse } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { DomainStatuses } from '../status/domain-statuses';
import { noSuchMonitoredDomain } from '../wire/problems';
import { isPathOfList, type MonitoredDomainQuery, nameInPath } from './monitored-domain';
import { MonitoredDomains } from './monitored-domains.repository';

@Injectable()
export class RetrieveMonitoredDomains {
  constructor(
    private readonly domains: MonitoredDomains,
    private readonly statuses: DomainStatuses,
  ) {}

  /** All of them: clients read the list once. */
  async all(accountId: string, { expand }: MonitoredDomainQuery): Promise<HttpResponse> {
    const all = expand.includes('status')
      ? await this.statuses.of(accountId, null)
      : await this.domains.ofAccount(accountId);
    return jsonResponse(200, all);
  }

  /** @throws Problem `not_found`; `bad_request` for a name that no object can have */
  async one(accountId: string, text: string, query: MonitoredDomainQuery): Promise<HttpResponse> {
    if (isPathOfList(text)) return await this.all(accountId, query);
    const { name, fault } = nameInPath(text);
    const [found] = query.expand.includes('status')
      ? await this.statuses.of(accountId, name)
      : [await this.domains.get(accountId, name)];
    if (found !== null && found !== undefined) return jsonResponse(200, found);
    throw fault === null ? noSuchMonitoredDomain() : Problem.ofFields([fault]);
  }
}
