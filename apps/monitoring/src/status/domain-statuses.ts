import { timestamp } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Following } from './following';
import { completeness, type MonitoredDomainStatusSchema } from './status';
import { type DomainStatus, MonitoringStatus } from './status.repository';

/** Monitored domains with the member `status`. */
@Injectable()
export class DomainStatuses {
  constructor(
    private readonly statuses: MonitoringStatus,
    private readonly following: Following,
  ) {}

  /** @param name null: all of the account, by name */
  async of(
    accountId: string,
    name: string | null,
  ): Promise<readonly { name: string; enabled: boolean; status: MonitoredDomainStatusSchema }[]> {
    const [domains, logs] = await Promise.all([
      this.statuses.domains(accountId, name),
      this.following.logs(),
    ]);
    const index = completeness(logs, new Date());
    return domains.map((domain) => ({
      name: domain.name,
      enabled: domain.enabled,
      status: { ...statusOf(domain), ...index },
    }));
  }
}

function statusOf({
  backfill,
  certificates,
  unknown,
  throttled,
}: DomainStatus): Omit<MonitoredDomainStatusSchema, 'complete' | 'holds_since'> {
  return {
    followed_since: backfill === null ? null : timestamp(new Date(backfill.created_at)),
    backfill:
      backfill === null ? null : { state: backfill.state, found: backfill.found, unknown: backfill.unknown },
    certificates,
    unknown,
    throttled,
  };
}
