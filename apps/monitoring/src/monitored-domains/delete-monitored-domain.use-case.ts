import { Problem } from '@certwright/errors';
import { type HttpResponse, type CallerIdentity, emptyResponse } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { MonitoringChanges } from '../changes/monitoring-changes';
import { isHost } from '../endpoints/endpoint';
import { Endpoints } from '../endpoints/endpoints.repository';
import { methodOfMember, noSuchMonitoredDomain } from '../wire/problems';
import { isPathOfList, nameInPath } from './monitored-domain';
import { MonitoredDomains } from './monitored-domains.repository';

@Injectable()
export class DeleteMonitoredDomain {
  constructor(
    private readonly changes: MonitoringChanges,
    private readonly domains: MonitoredDomains,
    private readonly endpoints: Endpoints,
  ) {}

  /** @throws Problem `not_found`, `bad_request` for a name that no object can have, `method_not_allowed` */
  async run(caller: CallerIdentity, text: string): Promise<HttpResponse> {
    if (isPathOfList(text)) throw methodOfMember();
    const { name, fault } = nameInPath(text);
    return await this.changes.run(caller, async ({ tx, accountId, record }) => {
      const before = await this.domains.delete(tx, accountId, name);
      if (before === null) throw fault === null ? noSuchMonitoredDomain() : Problem.ofFields([fault]);
      await record({ object: 'monitored_domain', name, action: 'deleted', before, after: null });
      if (isHost(name)) await this.endpoints.removeMonitored(tx, accountId, name);
      return emptyResponse;
    });
  }
}
