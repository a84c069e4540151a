import type { Issuance, IssuanceError } from '@certwright/issuance';
import { nextAttempt, nextStep } from '@certwright/issuance';
import {
  type Attachments,
  databaseProblem,
  type IssuanceProgress,
  type LeasedIssuances,
  type LeasedWork,
  LeaseLost,
} from '@certwright/persistence';
import { checkApprovals, stillApproved } from '../approvals/check-approvals';
import type { Approver } from '../approvals/approver';
import type {
  CertificateAuthority,
  CertificateRequest,
  IssuedChain,
} from '../certificate-authorities/certificate-authority';
import { attachmentOf, certificateFaults } from './issued-certificate';
import type { IssuanceEvents } from './issuance-events';

/** Longer than the longest step (a round of DNS look-ups, one answer of a CA), so that a lease is lost by accident only. */
const leaseMs = 15_000;

export interface AdvancePorts {
  readonly leasedIssuances: LeasedIssuances;
  readonly attachments: Attachments;
  /** In the order in which they are asked. */
  readonly approvers: readonly Approver[];
  /** How long an approval counts, ms. */
  readonly approvalReuseMs: number;
  /** Whoever issues under that name in this deployment; null: nobody does, and its products are not available. */
  readonly authorityOf: (name: string) => CertificateAuthority | null;
  readonly events: IssuanceEvents;
  /** A fresh random certificate id. */
  readonly certificateId: () => string;
}

/** An issuance on its way: what was read under the lease, and what the steps have added since. */
interface Walk extends LeasedWork {
  readonly issued: IssuedChain | null;
  readonly faults: readonly string[] | null;
}

/** `null`: the walk has ended for now. */
type StepResult = Promise<Walk | null>;

/** Takes an issuance as far as it goes: lease it, then one step after the other until it waits, ends, or is attached. */
export class AdvanceIssuance {
  constructor(private readonly ports: AdvancePorts) {}

  async run(issuanceId: string): Promise<void> {
    const work = await this.ports.leasedIssuances.lease(issuanceId, leaseMs);
    if (work === null) return;
    const startedMs = performance.now();
    const clock = () => new Date(work.now.getTime() + performance.now() - startedMs);
    try {
      const approvals = stillApproved(work.issuance.approvals, work.now, this.ports.approvalReuseMs);
      const issuance = { ...work.issuance, approvals };
      let walk: Walk | null = { ...work, issuance, issued: null, faults: null };
      while (walk !== null) walk = await this.step(walk, clock());
    } catch (error) {
      await this.stumbled(work, error, clock());
    }
  }

  private async step(walk: Walk, now: Date): StepResult {
    const facts = {
      paused: walk.plan.paused,
      planClosed: walk.plan.closedAt !== null,
      productAvailable:
        walk.product.available && this.ports.authorityOf(walk.product.certificateAuthority) !== null,
      keyBlocked: walk.keyBlocked,
      certificateFaults: walk.faults,
    };
    const step = nextStep(walk.issuance, facts, now);
    switch (step.kind) {
      case 'check-approvals':
        return await this.checkApprovals(walk, now);
      case 'submit-to-ca':
        return await this.submit(walk, now);
      case 'collect':
        return await this.collect(walk, now);
      case 'attach':
        return await this.attach(walk);
      case 'wait':
        return await this.end(walk, { dueAt: step.until });
      case 'fail':
        return await this.fail(walk, step.error, step.final, now);
      case 'cancel':
        return await this.end(walk, { state: 'canceled', lastError: step.error });
      case 'done':
        return null;
    }
  }

  private async checkApprovals(walk: Walk, now: Date): StepResult {
    const { issuance, delegationLabels: labels, product, terms } = walk;
    const approverEmails = product.emailApproval ? terms.approverEmails : {};
    const progress = await checkApprovals({ issuance, labels, approverEmails }, this.ports.approvers, now);
    const { approvals, nextCheckAt } = progress;
    if (nextCheckAt !== null) return await this.end(walk, { approvals, dueAt: nextCheckAt });
    // Stored with the next write: until then nothing hangs on it, and looking again costs a look-up.
    return { ...walk, issuance: { ...walk.issuance, approvals } };
  }

  private async submit(walk: Walk, now: Date): StepResult {
    const caReference = await this.authority(walk).submit(requestOf(walk, now));
    const { approvals } = walk.issuance;
    return await this.keep(walk, { approvals, caReference });
  }

  private async collect(walk: Walk, now: Date): StepResult {
    const reference = walk.issuance.caReference;
    if (reference === null) throw new Error('collect comes after submit');
    const collected = await this.authority(walk).collect(reference, requestOf(walk, now));
    switch (collected.kind) {
      case 'pending':
        return await this.end(walk, { dueAt: collected.until });
      case 'rejected':
        // The CA's own attempt is over; a later one begins anew.
        return await this.fail(walk, collected.error, collected.final, now, { caReference: null });
      case 'issued': {
        const faults = certificateFaults(collected.issued, walk.terms, now);
        return { ...walk, issued: collected.issued, faults };
      }
    }
  }

  private async attach(walk: Walk): StepResult {
    const { issued, issuance, terms, lease } = walk;
    if (issued === null) throw new Error('attach comes after collect');
    const attachment = attachmentOf(issued, issuance, terms, this.ports.certificateId());
    if (await this.ports.attachments.attach(lease, attachment)) {
      this.ports.events.attached(issuance, attachment);
      return null;
    }
    return await this.end(walk, { state: 'canceled' });
  }

  private async fail(
    walk: Walk,
    error: IssuanceError,
    final: boolean,
    now: Date,
    also: IssuanceProgress = {},
  ): StepResult {
    this.ports.events.failed(walk.issuance, error, final);
    if (final) return await this.end(walk, { ...also, state: 'failed', lastError: error });
    const failures = walk.issuance.failures + 1;
    const dueAt = nextAttempt(failures, now, walk.validUntil);
    return await this.end(walk, { ...also, failures, lastError: error, dueAt });
  }

  /** Stores what a step changed, and goes on under the same lease. */
  private async keep(walk: Walk, progress: Pick<Issuance, 'approvals' | 'caReference'>): StepResult {
    await this.ports.leasedIssuances.save(walk.lease, progress, { keepForMs: leaseMs });
    return { ...walk, issuance: { ...walk.issuance, ...progress } };
  }

  /** Stores what a step changed and gives the lease back: somebody goes on when it is due. */
  private async end(walk: Walk, progress: IssuanceProgress): StepResult {
    await this.ports.leasedIssuances.save(walk.lease, progress, 'release');
    return null;
  }

  /** Not known what happened: the row says where to go on; back off, so that a lasting fault does not spin. */
  private async stumbled(work: LeasedWork, error: unknown, now: Date): Promise<void> {
    if (error instanceof LeaseLost) return this.ports.events.leaseLost(work.issuance, error);
    this.ports.events.stumbled(work.issuance, error);
    // The database was away: no fault of the CA, and nothing could be stored. The lease runs out and the sweep goes on.
    if (databaseProblem(error) !== undefined) return;
    const lastError: IssuanceError = {
      code: 'ca_unavailable',
      message:
        'The certificate authority could not be reached, or did not answer as expected. It will be tried again.',
    };
    await this.fail({ ...work, issued: null, faults: null }, lastError, false, now);
  }

  private authority({ product }: Walk): CertificateAuthority {
    const authority = this.ports.authorityOf(product.certificateAuthority);
    if (authority === null) throw new Error(`nobody issues as "${product.certificateAuthority}" here`);
    return authority;
  }
}

function requestOf({ lease, terms, product }: Walk, now: Date): CertificateRequest {
  const { dnsNames, keyType, csr } = terms;
  const { lifetimeDays, subjectCommonName } = product;
  return { lease, dnsNames, keyType, csr, lifetimeDays, subjectCommonName, now };
}
