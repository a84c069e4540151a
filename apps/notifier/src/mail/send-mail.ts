import type { LeasedMail, LeasedMails } from './leased-mails';
import { repeatDuringOutage } from '@certwright/service';
import { compose, type ComposePorts } from './compose';
import { isMailAddress, type Sender } from './mail-address';
import type { MailEvents } from './mail-events';
import { type Message, messageOf } from './message';
import { nextMailTry, sendFailure, type SendOutcome } from './send-outcome';
import { sendWithinMs } from './smtp.client';

/** Longer than the longest try, so that a lease is lost by accident only. */
const leaseMs = sendWithinMs + 20_000;

/** Within the lease. */
const recordWithinMs = 15_000;

export interface SendMailPorts extends ComposePorts {
  readonly mails: Pick<LeasedMails, 'lease' | 'finish'>;
  readonly smtp: { send(message: Message): Promise<void> };
  readonly from: Sender;
  readonly events: MailEvents;
  /** 0 to 1. */
  readonly random: () => number;
}

/** One try of one mail: lease, write, send, record. At least once: a crash after the server took it sends it again. */
export class SendMail {
  constructor(private readonly ports: SendMailPorts) {}

  async run(mailId: string): Promise<void> {
    const mail = await this.ports.mails.lease(mailId, leaseMs);
    if (mail === null) return;
    if (!isMailAddress(mail.recipient)) {
      return await this.end(mail, { kind: 'refused', problem: 'the recipient is not a mail address' });
    }
    const letter = await compose(mail, this.ports);
    if (letter === null) return await this.end(mail, { kind: 'canceled' });
    const { from } = this.ports;
    const identity = { id: mail.lease.mailId, recipient: mail.recipient, createdAt: mail.createdAt };
    await this.end(mail, await this.send(messageOf(letter, identity, from, mail.now)));
  }

  private async send(message: Message): Promise<SendOutcome> {
    try {
      await this.ports.smtp.send(message);
      return { kind: 'sent' };
    } catch (error) {
      return sendFailure(error);
    }
  }

  private async end(mail: LeasedMail, outcome: SendOutcome | { readonly kind: 'canceled' }): Promise<void> {
    const { mails, events, random } = this.ports;
    const problem = 'problem' in outcome ? outcome.problem : null;
    const dueAt = outcome.kind === 'failed' ? nextMailTry(mail.attempts + 1, mail.now, random()) : null;
    const end = dueAt === null ? { state: stateOf[outcome.kind] } : ({ state: 'pending', dueAt } as const);
    // The mail is sent: an outage of the database in this moment is waited out, so that it is not sent again.
    const held = await repeatDuringOutage(async () => await mails.finish(mail.lease, end), {
      forMs: recordWithinMs,
    });
    if (!held) return events.leaseLost(mail);
    events.ended(mail, dueAt !== null ? 'retried' : stateOf[outcome.kind], problem);
  }
}

const stateOf = { sent: 'sent', canceled: 'canceled', refused: 'failed', failed: 'failed' } as const;
