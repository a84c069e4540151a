import { Problem } from '@certwright/errors';
import {
  type HttpResponse,
  type CallerIdentity,
  jsonResponse,
  type ReadMembers,
  unknownMemberFaults,
} from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { type AccountChange, MonitoringChanges } from '../changes/monitoring-changes';
import { isHost } from '../endpoints/endpoint';
import { Endpoints } from '../endpoints/endpoints.repository';
import { DomainStatuses } from '../status/domain-statuses';
import { Addresses } from '../wire/addresses';
import { methodOfMember, tooManyMonitoredDomains } from '../wire/problems';
import {
  immutableNameFaults,
  isPathOfList,
  type MonitoredDomainQuery,
  type MonitoredDomainRequest,
  type NameInPath,
  readNameInPath,
} from './monitored-domain';
import { type MonitoredDomain, MonitoredDomains } from './monitored-domains.repository';

@Injectable()
export class SetMonitoredDomain {
  constructor(
    private readonly changes: MonitoringChanges,
    private readonly domains: MonitoredDomains,
    private readonly addresses: Addresses,
    private readonly endpoints: Endpoints,
    private readonly statuses: DomainStatuses,
  ) {}

  /** @throws Problem `bad_request` with everything that is wrong, `not_allowed_by_plan`, `method_not_allowed` */
  async run(
    caller: CallerIdentity,
    text: string,
    request: ReadMembers<MonitoredDomainRequest>,
    { expand }: MonitoredDomainQuery,
  ): Promise<HttpResponse> {
    if (isPathOfList(text)) throw methodOfMember();
    const read = readNameInPath(text);
    const faults = [
      ...('code' in read ? [read] : immutableNameFaults(request.value.name, read.name)),
      ...request.faults,
      ...unknownMemberFaults(request),
    ];
    if ('code' in read || faults.length > 0) throw Problem.ofFields(faults);
    const { enabled } = request.value;
    const { isNew, domain } = await this.changes.run(
      caller,
      async (change) => await this.set(change, read, enabled),
    );
    const [expanded] = expand.includes('status') ? await this.statuses.of(caller.accountId, domain.name) : [];
    const shown = { ...expanded, ...domain };
    if (!isNew) return jsonResponse(200, shown);
    return jsonResponse(201, shown, { location: this.addresses.monitoredDomain(domain.name) });
  }

  private async set(
    change: AccountChange,
    { name, fault }: NameInPath,
    enabled: boolean | undefined,
  ): Promise<{ readonly isNew: boolean; readonly domain: MonitoredDomain }> {
    const { tx, accountId, maxMonitoredDomains, record } = change;
    const before = await this.domains.get(accountId, name, tx);
    if (before !== null) {
      const after = { name, enabled: enabled ?? before.enabled };
      if (after.enabled !== before.enabled) {
        await this.domains.setEnabled(tx, accountId, after);
        const action = after.enabled ? 'enabled' : 'disabled';
        await record({ object: 'monitored_domain', name, action, before, after });
        if (after.enabled && isHost(name)) await this.endpoints.addMonitored(tx, accountId, name);
      }
      return { isNew: false, domain: after };
    }
    if (fault !== null) throw Problem.ofFields([fault]);
    const after = { name, enabled: enabled ?? true };
    if (!(await this.domains.add(tx, accountId, after, maxMonitoredDomains)))
      throw tooManyMonitoredDomains(maxMonitoredDomains);
    await record({ object: 'monitored_domain', name, action: 'created', before, after });
    if (after.enabled && isHost(name)) await this.endpoints.addMonitored(tx, accountId, name);
    return { isNew: true, domain: after };
  }
}
