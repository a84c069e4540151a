import type { RunningProcess } from '@certwright/service';
import { Counter } from 'prom-client';
import type { HostingEvents } from './hosted-records';

/** Log lines and metrics of values in zones that integrations reach. A value is no secret: it stands in public DNS. */
export function observeHosting({ log, metrics: { registry } }: RunningProcess): HostingEvents {
  const failures = new Counter({
    name: 'certwright_hosted_challenge_failures_total',
    help: 'Values in the approval zone that an integration did not add or remove, by error; tried again',
    labelNames: ['change', 'code'],
    registers: [registry],
  });
  return {
    gone: (integration) => {
      failures.inc({ change: 'add', code: 'gone' });
      log.error({ integration }, 'ALARM: APPROVAL_ZONE_INTEGRATION names no integration that is in use');
    },
    addFailed: (integration, { label }, { code, message }) => {
      failures.inc({ change: 'add', code });
      const members = { integration, label, code, reason: message };
      log.warn(members, 'no value was added in the approval zone; it is tried again');
    },
    removeFailed: (integration, { label }, { code, message }) => {
      failures.inc({ change: 'remove', code });
      const members = { integration, label, code, reason: message };
      log.warn(members, 'a value stays in the approval zone; removing it is tried again');
    },
    leaseLost: (integration, error) => log.warn({ integration, err: error }, 'integration lease lost'),
  };
}
