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

/** How soon a lost job, or a CA that was unavailable, is tried again. A CA has 24 h for the most urgent (Baseline Requirements 4.9.1.1). */
const restMs = 10_000;

const first = '0';

/** Has CAs revoke what is revoked here. */
@Injectable()
@Processor('revocations')
export class RevocationsProcessor {
  private readonly revoked: Counter;
  /** Where the next sweep begins. */
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

  /** Enqueues what the CA was not told of, page by page and then from the start: what it refuses again and again hides nothing. */
  @Round('revocations')
  async sweep(): Promise<number> {
    const page = await this.pending.page(this.after, batch);
    await this.queues.addAll(page.map(({ id, reason }) => revocationJob(id, reason)));
    const last = page.length === batch ? page.at(-1) : undefined;
    this.after = last?.id ?? first;
    return last === undefined ? restMs : 0;
  }

  private report({ certificateId, accountId, serialNumber, reason }: PendingRevocation): void {
    this.revoked.inc();
    const members = { certificate: certificateId, account: accountId, serialNumber, reason };
    this.running.log.info(members, 'revoked');
  }
}
