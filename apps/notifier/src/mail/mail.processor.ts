import { JobQueues, Processor } from '@certwright/bullmq';
import { Mails } from '@certwright/delivery';
import { causeOfRow, type JobPayloads, wakeUpRevision, sendMail } from '@certwright/jobs';
import { Round } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { LeasedMails } from './leased-mails';
import { SendMail } from './send-mail';

/** Between two sweeps, ms. A sweep starts mails that became due later, and those of lost jobs. */
const sweepEveryMs = 1_000;
/** Mails of one sweep, in which accounts take turns; the next one continues with the rest. */
const sweepBatch = 200;
/** Between two sweeps while more is due than one batch, ms. */
const backlogRestMs = 250;

const forgetEveryMs = 10 * 60 * 1_000;
const forgetBatch = 1_000;

/** Sends mails when they are due. */
@Injectable()
@Processor('mail')
export class MailProcessor {
  constructor(
    private readonly mail: SendMail,
    private readonly leased: LeasedMails,
    private readonly queues: JobQueues,
    private readonly mails: Mails,
  ) {}

  async 'send-mail'({ mailId }: JobPayloads['send-mail']): Promise<void> {
    await this.mail.run(mailId);
  }

  /** Enqueues mails that are due and not leased; Redis drops an id that is still queued. */
  @Round('sweepMails')
  async sweep(): Promise<number> {
    const due = await this.leased.due(sweepBatch);
    await this.queues.addAll(
      due.map((mail) => ({
        ...sendMail(mail.id, wakeUpRevision(mail)),
        priority: mail.turn,
        ...causeOfRow(mail),
      })),
    );
    return due.length < sweepBatch ? sweepEveryMs : backlogRestMs;
  }

  @Round('forgetMails')
  async forget(): Promise<number> {
    return (await this.mails.forgetOld(forgetBatch)) < forgetBatch ? forgetEveryMs : 0;
  }
}
