import type { ApprovalRecords } from '@certwright/approvals';
import type { LeasedRecord } from './leased-records';
import type { RunningProcess } from '@certwright/service';
import { Counter, Gauge } from 'prom-client';
import type { IntegrationEvents } from './integration-events';

/** Log lines and metrics of integrations and their records. */
export function observeIntegrations(
  { log, metrics: { registry } }: RunningProcess,
  records: ApprovalRecords,
): IntegrationEvents {
  const registers = [registry];
  const changes = new Counter({
    name: 'certwright_approval_records_total',
    help: 'Approval records added, seen at every authoritative server, removed, by what happened',
    labelNames: ['what'],
    registers,
  });
  const faults = new Counter({
    name: 'certwright_gateway_faults_total',
    help: 'Failed requests to the DNS gateway, by error',
    labelNames: ['code'],
    registers,
  });
  const failing = new Gauge({
    name: 'certwright_dns_integrations_failing',
    help: 'Integrations whose provider rejects the credentials',
    registers,
  });
  new Gauge({
    name: 'certwright_approval_records_due_age_seconds',
    help: 'How long the approval record that waits longest has been due',
    registers,
    async collect() {
      const { oldestDueS, failingIntegrations } = await records.backlog();
      this.set(oldestDueS);
      failing.set(failingIntegrations);
    },
  });
  const happened = (what: string) => (record: LeasedRecord) => {
    changes.inc({ what });
    log.info(membersOf(record), `approval record ${what}`);
  };
  return {
    added: happened('added'),
    standing: happened('standing'),
    removed: happened('removed'),
    recordFailed: (record, { code, message }) => {
      faults.inc({ code });
      log.warn({ ...membersOf(record), code, reason: message }, 'gateway failed; retrying');
    },
    zonesFailed: ({ id, accountId }, { code, message }) => {
      faults.inc({ code });
      const members = { integration: id, account: accountId, code, reason: message };
      log.warn(members, 'zones could not be listed; retrying');
    },
    leaseLost: ({ id, accountId }) =>
      log.warn({ integration: id, account: accountId }, 'lease lost; another worker continues'),
  };
}

function membersOf({ id, integrationId, dnsName }: LeasedRecord): object {
  return { record: id, integration: integrationId, dnsName };
}
