import { Round, RunningProcess } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Counter, Gauge } from 'prom-client';
import { Renewals } from './renewals.repository';

/** Plans of one round: locked for the time of a few statements. */
const batch = 500;

/** A renewal is due weeks before it is needed. */
const restMs = 5_000;

/** Opens renewals that are due. */
@Injectable()
export class RenewalRound {
  private readonly log: RunningProcess['log'];
  private readonly unpaid: Counter;

  constructor(
    private readonly renewals: Renewals,
    { log, metrics: { registry } }: RunningProcess,
  ) {
    this.log = log;
    this.unpaid = new Counter({
      name: 'certwright_renewals_unpaid_total',
      help: 'Renewals that an account could not pay; each is retried every hour',
      registers: [registry],
    });
    new Gauge({
      name: 'certwright_certificates_expiring',
      help: 'Current certificates that are replaced automatically and have less than a sixth of their lifetime left, and less than 7 days; of disabled accounts, only those whose replacement needs no purchase',
      registers: [registry],
      async collect() {
        this.set(await renewals.expiring());
      },
    });
  }

  @Round('renewals')
  async renew(): Promise<number> {
    const { found, unpaid } = await this.renewals.openDue(batch);
    for (const { planId, accountId, problem } of unpaid) {
      this.unpaid.inc();
      this.log.warn({ plan: planId, account: accountId, reason: problem }, 'renewal could not be paid');
    }
    return found < batch ? restMs : 0;
  }
}
