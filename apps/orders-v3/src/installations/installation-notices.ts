import { type Installation, Installations } from '@certwright/accounts';
import { Transactions, type Tx } from '@certwright/core-schema';
import { AccountEvents, Mails } from '@certwright/delivery';
import { Round, timestamp } from '@certwright/service';
import { notServedEvent } from '@certwright/webhooks';
import { Injectable } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { installationJson, InstallationSchema } from './installation-json';
import { type NoticeOccasion, type Rollout, Rollouts } from './rollouts.repository';

/** The body of the event `order.current_cert_not_served`. */
export class NotServedSchema {
  @ApiProperty({ example: 'www.example.com', description: 'Name of the order.' })
  order: string;

  @ApiProperty({ example: 'web' })
  cluster: string;

  @ApiProperty({ description: 'SHA-256 over the DER certificate that is not served, lower-case hex.' })
  certificate_sha256: string;

  @ApiProperty({ format: 'date-time', description: 'Since when the hosts install it.' })
  since: string;

  @ApiProperty({ type: 'integer', description: 'How many places do not serve it.' })
  count: number;

  @ApiProperty({ type: [InstallationSchema], description: 'The first 50 of them.' })
  installations: readonly InstallationSchema[];
}

/** Roll-outs of one round, one transaction each. */
const batch = 100;

/** Between two rounds, ms. */
const stoppedRestMs = 5_000;
const overdueRestMs = 60_000;

/** Installations that are read for a body, and those that it shows. */
const maxRead = 2_000;
const maxShown = 50;

/** Notifies accounts of certificates that do not reach their hosts: once for each certificate. */
@Injectable()
export class InstallationNotices {
  constructor(
    private readonly transactions: Transactions,
    private readonly rollouts: Rollouts,
    private readonly installations: Installations,
    private readonly mails: Mails,
    private readonly events: AccountEvents,
  ) {}

  /** @returns ms until the next round */
  @Round('overdue-installations')
  async notifyOverdue(): Promise<number> {
    const found = await this.noticeEach('overdue', async (tx, rollout) => {
      await this.events.enqueue(tx, await this.eventsOf(tx, rollout));
      await this.mail(tx, 'certificate-not-served', rollout);
    });
    return found < batch ? overdueRestMs : 0;
  }

  /** @returns ms until the next round */
  @Round('stopped-rollouts')
  async notifyStopped(): Promise<number> {
    const found = await this.noticeEach('stopped', async (tx, rollout) => {
      await this.mail(tx, 'rollout-stopped', rollout);
    });
    return found < batch ? stoppedRestMs : 0;
  }

  /** @returns how many were due; other processes may have notified of them meanwhile */
  private async noticeEach(
    occasion: NoticeOccasion,
    notify: (tx: Tx, rollout: Rollout) => Promise<void>,
  ): Promise<number> {
    const planIds = await this.rollouts.due(occasion, batch);
    const errors: unknown[] = [];
    for (const planId of planIds) {
      await this.transactions
        .run(async (tx) => {
          const rollout = await this.rollouts.markNoticed(tx, occasion, planId);
          if (rollout !== null) await notify(tx, rollout);
        })
        .catch((error: unknown) => void errors.push(error));
    }
    // The others have been notified of; this one is tried again in the next round.
    if (errors.length > 0) throw errors[0];
    return planIds.length;
  }

  private async eventsOf(tx: Tx, rollout: Rollout) {
    const { accountId, planId, certificateSha256 } = rollout;
    const installed = await this.installations.ofPlans([planId], maxRead, tx);
    const body = JSON.stringify(notServedJson(rollout, installed));
    const subject = `not-served:${planId}:${certificateSha256}`;
    return [{ accountId, event: notServedEvent, subject, body } as const];
  }

  private async mail(
    tx: Tx,
    kind: 'certificate-not-served' | 'rollout-stopped',
    { accountId, planId, certificateSha256 }: Rollout,
  ): Promise<void> {
    await this.mails.enqueueToAccount(tx, { accountId, kind, facts: { planId, certificateSha256 } });
  }
}

function notServedJson(
  { order, cluster, certificateSha256, begunAt }: Rollout,
  installed: readonly Installation[],
): NotServedSchema {
  const unserved = installed.filter(({ isServed, state }) => !isServed && state !== 'released');
  return {
    order,
    cluster,
    certificate_sha256: certificateSha256,
    since: timestamp(begunAt),
    count: unserved.length,
    installations: unserved.slice(0, maxShown).map(installationJson),
  };
}
