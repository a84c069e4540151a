import type { LeasedMail } from './leased-mails';

export type MailOutcome = 'sent' | 'canceled' | 'retried' | 'failed';

/** What happens to mails, for whoever watches. */
export interface MailEvents {
  readonly ended: (mail: LeasedMail, outcome: MailOutcome, problem: string | null) => void;
  /** Another process goes on; the mail may come twice, with one Message-ID. */
  readonly leaseLost: (mail: LeasedMail) => void;
}
