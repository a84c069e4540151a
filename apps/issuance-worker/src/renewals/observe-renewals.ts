import type { RunningProcess } from '@certwright/service';
import { Counter } from 'prom-client';
import type { RenewalEvents } from './renewals';

/** Log lines and metrics of renewals. */
export function observeRenewals({
  log,
  metrics: { registry },
}: Pick<RunningProcess, 'log' | 'metrics'>): RenewalEvents {
  const unpaid = new Counter({
    name: 'certwright_renewals_unpaid_total',
    help: 'Renewals that an account could not pay; each is tried again every hour',
    registers: [registry],
  });
  return {
    unpaid: ({ planId, accountId, problem }) => {
      unpaid.inc();
      log.warn({ plan: planId, account: accountId, reason: problem }, 'renewal could not be paid');
    },
  };
}
