import { JobQueues, Processor } from '@certwright/bullmq';
import { type JobPayloads, revokeCertificate as revocationJob } from '@certwright/jobs';
import { Round, RunningProcess } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { AuthoritiesInOrder } from '../certificate-authorities/authorities-in-order';
import { type PendingRevocation, PendingRevocations } from './pending-revocations';
import { revokeCertificate } from './revoke-certificate';

/** Certificates of one sweep. */
const batch = 500;

/**
 * Retry interval after a lost job, or when a CA was unavailable. A CA has 24 h for the most urgent (Baseline
 * Requirements 4.9.1.1).
 */
const restMs = 10_000;

const first = '0';

/** Reports local revocations to the CAs. */
@Injectable()
@Processor('revocations')
export class RevocationsProcessor {
  private readonly revoked: Counter;
  /** Start of the next sweep. */
  private after = first;

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
  }

  async 'revoke-certificate'({ certificateId }: JobPayloads['revoke-certificate']): Promise<void> {
    const { pending, issuers } = this;
    await revokeCertificate({ pending, issuers, revoked: (each) => this.report(each) }, certificateId);
  }

  /** Enqueues unreported revocations, page by page and then from the start: repeated refusals do not hide others. */
  @Round('revocations')
  async sweep(): Promise<number> {
    const page = await this.pending.page(this.after, batch);
    await this.queues.addAll(page.map(({ id, reason }) => revocationJob(id, reason)));
    const last = page.length === batch ? page.at(-1) : undefined;
    this.after = last?.id ?? first;
    if (last !== undefined) return 0;
    await this.pending.mailLapsed();
    return restMs;
  }

  private report({ certificateId, accountId, serialNumber, reason }: PendingRevocation): void {
    this.revoked.inc();
    const members = { certificate: certificateId, account: accountId, serialNumber, reason };
    this.running.log.info(members, 'revoked');
  }
}
