import type { SealingKeys } from '@certwright/sealing';
import { repeatDuringOutage } from '@certwright/service';
import { annotateSpan, inSpan } from '@certwright/tracing';
import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config';
import { type LeasedMail, LeasedMails } from './leased-mails';
import { isMailAddress, type Sender, senderOf } from './mail-address';
import { MailEvents } from './mail-events';
import { MailWriter } from './mail-writer';
import { type Message, messageOf } from './message';
import { nextMailTry, sendFailure, type SendOutcome } from './send-outcome';
import { sendWithinMs, SmtpClient } from './smtp.client';

/** Longer than the slowest attempt, so that a lease is lost only by accident. */
const leaseMs = sendWithinMs + 20_000;

/** Within the lease. */
const recordWithinMs = 15_000;

/**
 * One attempt of one mail: lease, write, send, record. At least once: a crash after the server accepted it sends it
 * again.
 */
@Injectable()
export class SendMail {
  private readonly from: Sender;
  private readonly sealing: SealingKeys;

  constructor(
    private readonly mails: LeasedMails,
    private readonly writer: MailWriter,
    private readonly smtp: SmtpClient,
    private readonly events: MailEvents,
    @Inject(Config) { SMTP_FROM, SEALING_KEYS }: Pick<Config, 'SMTP_FROM' | 'SEALING_KEYS'>,
  ) {
    const from = senderOf(SMTP_FROM);
    if (from === null) throw new TypeError('SMTP_FROM was not checked when it was read');
    this.from = from;
    this.sealing = SEALING_KEYS;
  }

  async run(mailId: string): Promise<void> {
    const mail = await this.mails.lease(mailId, leaseMs);
    if (mail === null) return;
    if (!isMailAddress(mail.recipient)) {
      return await this.end(mail, { kind: 'refused', problem: 'the recipient is not a mail address' });
    }
    const letter = await this.writer.write(mail);
    if (letter === null) return await this.end(mail, { kind: 'canceled' });
    const identity = { reference: this.referenceOf(mail), recipient: mail.recipient };
    await this.end(mail, await this.send(messageOf(letter, identity, this.from, mail.now)));
  }

  /** Ids count the mails of all accounts, and restart with a new database. */
  private referenceOf({ lease: { mailId }, createdAt }: LeasedMail): string {
    return this.sealing.digest(`${mailId} ${createdAt.getTime()}`, 'Message-ID').toString('hex');
  }

  private async send(message: Message): Promise<SendOutcome> {
    return await inSpan('send mail', { kind: 'client' }, async () => {
      const outcome = await this.smtp.send(message).then(() => ({ kind: 'sent' }) as const, sendFailure);
      annotateSpan({ 'certwright.outcome': outcome.kind });
      return outcome;
    });
  }

  private async end(mail: LeasedMail, outcome: SendOutcome | { readonly kind: 'canceled' }): Promise<void> {
    const problem = 'problem' in outcome ? outcome.problem : null;
    const dueAt = outcome.kind === 'failed' ? nextMailTry(mail.attempts + 1, mail.now, Math.random()) : null;
    const end = dueAt === null ? { state: stateOf[outcome.kind] } : ({ state: 'pending', dueAt } as const);
    // The mail is sent: waits for the end of a database outage, so that it is not sent again.
    const held = await repeatDuringOutage(async () => await this.mails.finish(mail.lease, end), {
      forMs: recordWithinMs,
    });
    if (!held) return this.events.leaseLost(mail);
    this.events.ended(mail, dueAt !== null ? 'retried' : stateOf[outcome.kind], problem);
  }
}

const stateOf = { sent: 'sent', canceled: 'canceled', refused: 'failed', failed: 'failed' } as const;
