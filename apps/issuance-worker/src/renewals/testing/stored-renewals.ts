import type { DataSource } from 'typeorm';
import { Mails } from '@certwright/delivery';
import { purchasesOver } from '@certwright/core-testing';
import { Transactions } from '@certwright/core-schema';
import { createLogger, Metrics, type RunningProcess } from '@certwright/service';
import { RenewalRound } from '../renewal-round';
import { Renewals } from '../renewals.repository';
import { UnpaidRenewals } from '../unpaid-renewals';

/** One round. */
export async function renewOnce(
  renewals: Renewals,
  running: Pick<RunningProcess, 'log' | 'metrics'> = {
    log: createLogger('spec', 'silent'),
    metrics: new Metrics('spec'),
  },
): Promise<number> {
  return await new RenewalRound(renewals, running as RunningProcess).renew();
}

export function renewalsOver(database: DataSource): Renewals {
  return new Renewals(
    new Transactions(database),
    purchasesOver(database),
    new UnpaidRenewals(new Mails(database)),
  );
}
