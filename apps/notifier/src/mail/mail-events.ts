import { RunningProcess } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Counter, Gauge } from 'prom-client';
import { type LeasedMail, LeasedMails } from './leased-mails';

export type MailOutcome = 'sent' | 'canceled' | 'retried' | 'failed';

/** Events of mails. */
export abstract class MailEvents {
  abstract ended(mail: LeasedMail, outcome: MailOutcome, problem: string | null): void;
  /** Another process continues; the mail may arrive twice, with one Message-ID. */
  abstract leaseLost(mail: LeasedMail): void;
}

/** Log lines and metrics; no address is logged. */
@Injectable()
export class ObservedMails implements MailEvents {
  private readonly log: RunningProcess['log'];
  private readonly tries: Counter<'kind' | 'outcome'>;

  constructor({ log, metrics: { registry } }: RunningProcess, leased: LeasedMails) {
    this.log = log;
    this.tries = new Counter({
      name: 'certwright_mail_tries_total',
      help: 'Attempts to send mails, by kind and outcome',
      labelNames: ['kind', 'outcome'],
      registers: [registry],
    });
    new Gauge({
      name: 'certwright_mails_due_age_seconds',
      help: 'How long the oldest mail has been due',
      registers: [registry],
      async collect() {
        this.set(await leased.oldestDueS());
      },
    });
  }

  ended({ lease, kind, accountId }: LeasedMail, outcome: MailOutcome, problem: string | null): void {
    this.tries.inc({ kind, outcome });
    const members = { mail: lease.mailId, kind, account: accountId, outcome };
    if (problem === null) this.log.info(members, 'mail');
    else this.log.warn({ ...members, problem }, 'mail not sent');
  }

  leaseLost({ lease }: LeasedMail): void {
    this.log.warn({ mail: lease.mailId }, 'lease lost; another process continues');
  }
}
