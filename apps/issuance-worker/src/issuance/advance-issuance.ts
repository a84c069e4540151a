import { type Coverage, type Issuance, nextStep } from '@certwright/issuance';
import type { Attachments, LeasedIssuances } from '@certwright/ordering';
import { type IssuedMismatch, knownKeySource } from '@certwright/pki';
import { freshlyApproved, stillApproved } from '../approvals/approval-age';
import { checkApprovals } from '../approvals/check-approvals';
import type { Approver } from '../approvals/approver';
import type { PublishApprovals } from '../approvals/publish-approvals';
import type { Issuers } from '../certificate-authorities/authorities-in-order';
import type { IssuedChain } from '../certificate-authorities/certificate-authority';
import type { Trial } from '../certificate-authorities/health/trial';
import { certificateRequest, type RequestedWork } from './certificate-request';
import { HeldLease, leaseMs } from './held-lease';
import { attachmentOf, certificateFaults } from './issued-certificate';
import type { IssuanceEvents } from './issuance-events';
import { type StoredWork, PublishedProgress } from './published-progress';
import { RunEnds } from './run-ends';

export interface AdvancePorts {
  readonly leasedIssuances: LeasedIssuances;
  readonly attachments: Attachments;
  /** In the order in which they are called. */
  readonly approvers: readonly Approver[];
  /** Records published by the account's integrations. */
  readonly publishing: PublishApprovals;
  /** Validity of an approval, ms. */
  readonly approvalReuseMs: number;
  readonly issuers: Issuers;
  readonly events: IssuanceEvents;
  /** A fresh random certificate id. */
  readonly certificateId: () => string;
}

/** An issuance in progress: as read under the lease, with the results of the steps since. */
interface Walk extends RequestedWork, StoredWork {
  readonly coverage: Coverage;
  /** Of this run; values still to be published after it wait for the next one. */
  readonly published: boolean;
  readonly issued: IssuedChain | null;
  readonly faults: readonly IssuedMismatch[] | null;
}

/** `null`: the run has ended for now. */
type StepResult = Promise<Walk | null>;

/** Advances an issuance: leases it, then runs one step after the other until it waits, ends, or is attached. */
export class AdvanceIssuance {
  private readonly progress: PublishedProgress;
  private readonly ends: RunEnds;

  constructor(private readonly ports: AdvancePorts) {
    this.progress = new PublishedProgress(ports.leasedIssuances, ports.events);
    this.ends = new RunEnds(this.progress, ports.events);
  }

  /** @param trial of an unavailable CA that the issuance waits for; null: none */
  async run(issuanceId: string, trial: Trial | null = null): Promise<void> {
    const requestedMs = performance.now();
    const leased = await this.ports.leasedIssuances.lease(issuanceId, leaseMs);
    if (leased === null) return;
    const stalled = leased.issuance.lastError?.stalledSince;
    const stalledSince = stalled === undefined ? null : new Date(stalled);
    const work = { ...leased, stored: leased.issuance, stalledSince };
    const startedMs = performance.now();
    const held = new HeldLease(this.ports.leasedIssuances, work.lease, leaseMs - (startedMs - requestedMs));
    const clock = () => new Date(work.now.getTime() + performance.now() - startedMs);
    try {
      const approvals = stillApproved(work.issuance.approvals, work.now, this.ports.approvalReuseMs);
      const issuance = { ...work.issuance, approvals };
      const coverage = await this.ports.publishing.coverageOf({ ...work, issuance });
      const begun = {
        held,
        clock,
        refusals: [],
        trial,
        coverage,
        published: false,
        issued: null,
        faults: null,
      };
      let walk: Walk | null = { ...work, issuance, ...begun };
      while (walk !== null) walk = await this.step(walk, clock());
    } catch (error) {
      await this.ends.unexpectedError(work, error, clock());
    }
  }

  private async step(walk: Walk, now: Date): StepResult {
    const facts = {
      paused: walk.plan.paused,
      planClosed: walk.plan.closedAt !== null,
      productAvailable: walk.product.available && (await this.ports.issuers.serves(walk.product)),
      keyBlocked: walk.keyBlocked || isKnown(walk.terms.spkiSha256),
      unpublished: walk.published ? [] : this.ports.publishing.unpublished(walk),
      certificateFaults: walk.faults,
    };
    const step = nextStep(walk.issuance, facts, now);
    switch (step.kind) {
      case 'publish-approvals':
        return await this.publishApprovals(walk);
      case 'check-approvals':
        return await this.checkApprovals(walk, now);
      case 'submit-to-ca':
        return await this.submit(walk, now);
      case 'collect':
        return await this.collect(walk, now);
      case 'attach':
        return await this.attach(walk);
      case 'wait':
        return await this.ends.end(walk, { dueAt: step.until });
      case 'fail':
        return await this.ends.fail(walk, step.error, step.final, now);
      case 'cancel':
        return await this.ends.end(walk, { state: 'canceled', lastError: step.error });
      case 'done':
        return null;
    }
  }

  private async publishApprovals(walk: Walk): StepResult {
    const { publishing } = this.ports;
    await publishing.want(walk);
    return { ...walk, coverage: await publishing.coverageOf(walk), published: true };
  }

  private async checkApprovals(walk: Walk, now: Date): StepResult {
    const { issuance, delegationLabels: labels, product, terms, coverage } = walk;
    const acceptsParentRecords = this.ports.issuers.acceptsParentRecords(product);
    const { approverEmails } = terms;
    const subject = { issuance, labels, records: coverage.records, approverEmails, acceptsParentRecords };
    const isOffered = { dns: true, http: product.httpApproval, email: product.emailApproval };
    const approvers = this.ports.approvers.filter(({ method }) => isOffered[method]);
    const progress = await checkApprovals(subject, approvers, now);
    const { approvals, nextCheckAt } = progress;
    if (nextCheckAt !== null) return await this.ends.end(walk, { approvals, dueAt: nextCheckAt });
    // Stored with the next write: until then nothing depends on it, and checking again costs a look-up.
    return { ...walk, issuance: { ...walk.issuance, approvals } };
  }

  private async submit(walk: Walk, now: Date): StepResult {
    const fresh = freshlyApproved(walk.issuance.approvals, now);
    if (fresh.some(({ status }) => status === 'pending')) {
      const issuance = { ...walk.issuance, approvals: fresh };
      return { ...walk, issuance, coverage: await this.ports.publishing.coverageOf({ ...walk, issuance }) };
    }
    const submitted = await this.ports.issuers.submit(certificateRequest(walk));
    const { approvals } = walk.issuance;
    if (submitted.kind === 'submitted') {
      const { reference: caReference, trial = walk.trial } = submitted;
      return { ...(await this.keep(walk, { approvals, caReference, lastError: null })), trial };
    }
    const { error, until, final, waitsFor, stalled } = submitted;
    if (stalled) return await this.ends.stall(walk, error, until, { approvals });
    return until === null
      ? await this.ends.fail(walk, error, final, now, { approvals })
      : await this.ends.rest(walk, error, until, { approvals, ...(waitsFor.length > 0 ? { waitsFor } : {}) });
  }

  private async collect(walk: Walk, now: Date): StepResult {
    const reference = walk.issuance.caReference;
    if (reference === null) throw new Error('collect comes after submit');
    const collected = await this.ports.issuers.collect(reference, certificateRequest(walk));
    // The CA's own attempt is over; a later one starts from scratch.
    const over = { caReference: null };
    switch (collected.kind) {
      case 'pending':
        // Clears any earlier problem.
        return collected.error === null
          ? await this.ends.end(walk, { dueAt: collected.until, lastError: null })
          : await this.ends.rest(walk, collected.error, collected.until);
      case 'unavailable':
        return await this.ends.fail(walk, collected.error, false, now);
      case 'stalled':
        return await this.ends.stall(walk, collected.error, collected.until);
      case 'down':
        return await this.ends.rest(walk, collected.error, collected.until, {
          waitsFor: [collected.authority],
        });
      case 'rejected':
        return collected.until === null
          ? await this.ends.fail(walk, collected.error, collected.final, now, over)
          : await this.ends.rest(walk, collected.error, collected.until, over);
      case 'given_up': {
        const next = await this.keep(walk, over);
        return { ...next, refusals: [...walk.refusals, collected.refusal] };
      }
      case 'issued': {
        // The exchange took time, and the CA may have issued during it.
        const faults = certificateFaults(collected.issued, walk.terms, walk.clock());
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
      this.ports.events.changed(issuance);
      return null;
    }
    return await this.ends.end(walk, { state: 'canceled' });
  }

  /** Stores the changes of a step, and continues under the same lease. */
  private async keep(
    walk: Walk,
    progress: Partial<Pick<Issuance, 'approvals' | 'caReference' | 'lastError'>>,
  ): Promise<Walk> {
    const requestedMs = performance.now();
    await this.progress.save(walk, progress, { keepForMs: leaseMs });
    walk.held.lengthened(requestedMs, leaseMs);
    const stored = { ...walk.stored, ...progress };
    return { ...walk, stored, issuance: { ...walk.issuance, ...progress } };
  }
}

/** An order may be older than the list of this release. */
function isKnown(spkiSha256: Uint8Array): boolean {
  return knownKeySource(Buffer.from(spkiSha256).toString('hex')) !== undefined;
}
