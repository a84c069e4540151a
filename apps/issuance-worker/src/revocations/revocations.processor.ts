import { JobQueues, Processor } from '@certwright/bullmq';
import { type JobPayloads, revokeCertificate as revocationJob } from '@certwright/jobs';
import { Round, RunningProcess } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Counter, Gauge } from 'prom-client';
import { AuthoritiesInOrder } from '../certificate-authorities/authorities-in-order';
import { type DueRevocation, type PendingRevocation, PendingRevocations } from './pending-revocations';
import { revokeCertificate, type RevocationFailure } from './revoke-certificate';

/** Certificates of one sweep. */
const batch = 500;

/** Interval at which due revocations are enqueued: first ones with a lost job, and those that failed, ms. */
const restMs = 10_000;

/** Interval while more is due than one batch and the queue is filled, ms. */
const backlogRestMs = 2_000;

/** Reports local revocations to the CAs. */
@Injectable()
@Processor('revocations')
export class RevocationsProcessor {
  private readonly revoked: Counter;
  /** The sweep continues after it; null: from the start. */
  private after: DueRevocation | null = null;

  constructor(
    private readonly pending: PendingRevocations,
    private readonly issuers: AuthoritiesInOrder,
    private readonly queues: JobQueues,
    private readonly running: RunningProcess,
  ) {
    this.revoked = new Counter({
      name: 'certwright_certificates_revoked_total',
      help: 'Revocations confirmed by the CA',
      registers: [running.metrics.registry],
    });
    new Gauge({
      name: 'certwright_revocations_pending',
      help: 'Certificates that are revoked here and not yet by the CA: waiting, failing (CA unavailable), or refused by the CA',
      labelNames: ['state'],
      registers: [running.metrics.registry],
      async collect() {
        for (const [state, count] of Object.entries(await pending.counts())) this.set({ state }, count);
      },
    });
  }

  async 'revoke-certificate'({ certificateId }: JobPayloads['revoke-certificate']): Promise<void> {
    const { pending, issuers } = this;
    await revokeCertificate(
      {
        pending,
        issuers,
        revoked: (each) => this.report(each),
        failed: (each, failure) => this.reportFailure(each, failure),
      },
      certificateId,
    );
  }

  /**
   * Enqueues unreported revocations, page by page: the first of every account runs before the second of any. When a page fills
   * the queue, from the start, since other accounts may have had new ones; those of a CA that is down leave the queue at once.
   */
  @Round('revocations')
  async sweep(): Promise<number> {
    const page = await this.pending.page(this.after, batch);
    await this.queues.addAll(
      page.map(({ id, reason, turn }) => ({ ...revocationJob(id, reason), priority: turn })),
    );
    this.after = null;
    if (page.length === batch) {
      if ((await this.queues.waiting('revocations')) >= batch / 2) return backlogRestMs;
      this.after = page.at(-1) ?? null;
      return 0;
    }
    await this.pending.forgetExpired();
    await this.pending.mailLapsed();
    return restMs;
  }

  private report({ certificateId, accountId, serialNumber, reason }: PendingRevocation): void {
    this.revoked.inc();
    const members = { certificate: certificateId, account: accountId, serialNumber, reason };
    this.running.log.info(members, 'revoked');
  }

  private reportFailure(
    { certificateId, accountId, certificateAuthority: authority, serialNumber, reason }: PendingRevocation,
    { refused, outcome, failures }: RevocationFailure,
  ): void {
    const members = { certificate: certificateId, account: accountId, serialNumber, reason, authority };
    const { log } = this.running;
    if (refused)
      log.error(
        { ...members, failures, outcome },
        'ALARM: a CA refuses to revoke a certificate; it is requested again',
      );
    else log.warn({ ...members, failures, outcome }, 'revocation failed; retrying');
  }
}
