import { isUniqueViolation } from '@certwright/core-schema';
import { type Coverage, type Issuance, type IssuanceError, nextStep, type Step } from '@certwright/issuance';
import type { Attachments, LeasedIssuances } from '@certwright/ordering';
import { type IssuedMismatch, knownKeySource } from '@certwright/pki';
import { annotateSpan, inSpan } from '@certwright/tracing';
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
import type { Pause } from './pausable-runs';
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
interface IssuanceRun extends RequestedWork, StoredWork {
  readonly coverage: Coverage;
  /** Of this run; values still to be published after it wait for the next one. */
  readonly published: boolean;
  readonly issued: IssuedChain | null;
  readonly faults: readonly IssuedMismatch[] | null;
}

type StepProgress = Partial<Pick<Issuance, 'approvals' | 'caReference' | 'lastError'>>;

/** `null`: the run has ended for now. */
type StepResult = Promise<IssuanceRun | null>;

/** Advances an issuance: leases it, then runs one step after the other until it waits, ends, or is attached. */
export class AdvanceIssuance {
  private readonly progress: PublishedProgress;
  private readonly ends: RunEnds;

  constructor(private readonly ports: AdvancePorts) {
    this.progress = new PublishedProgress(ports.leasedIssuances, ports.events);
    this.ends = new RunEnds(this.progress, ports.events);
  }

  /**
   * @param trial of an unavailable CA that the issuance waits for; null: none
   * @param pause for short waits within the run; default: they end it
   */
  async run(issuanceId: string, trial: Trial | null = null, pause: Pause = neverPause): Promise<void> {
    const requestedMs = performance.now();
    const leased = await this.ports.leasedIssuances.lease(issuanceId, leaseMs);
    if (leased === null) return;
    annotateSpan({ 'certwright.account_id': leased.issuance.accountId });
    const stalled = leased.issuance.lastError?.stalledSince;
    const stalledSince = stalled === undefined ? null : new Date(stalled);
    const keyBlocked = leased.keyBlocked || isKnown(leased.terms.spkiSha256);
    const work = { ...leased, keyBlocked, stored: leased.issuance, stalledSince };
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
        begun: null,
        pause,
        coverage,
        published: false,
        issued: null,
        faults: null,
      };
      let run: IssuanceRun | null = { ...work, issuance, ...begun };
      while (run !== null) run = await this.step(run, clock());
    } catch (error) {
      await this.ends.unexpectedError(work, error, clock());
    }
  }

  private async step(run: IssuanceRun, now: Date): StepResult {
    const { issuers } = this.ports;
    const { caReference } = run.issuance;
    const inputs = {
      paused: run.plan.paused,
      planClosed: run.plan.closedAt !== null,
      productAvailable: run.product.available && (await issuers.serves(run.product)),
      keyBlocked: run.keyBlocked,
      mayBeIssued: run.keyBlocked && caReference !== null && (await issuers.mayHaveIssued(caReference)),
      unpublished: run.published ? [] : this.ports.publishing.unpublished(run),
      certificateFaults: run.faults,
    };
    const step = nextStep(run.issuance, inputs, now);
    const attributes = { 'certwright.issuance_id': run.issuance.id, 'certwright.step': step.kind };
    return await inSpan(`step ${step.kind}`, { attributes }, async () => await this.take(step, run, now));
  }

  private async take(step: Step, run: IssuanceRun, now: Date): StepResult {
    switch (step.kind) {
      case 'publish-approvals':
        return await this.publishApprovals(run);
      case 'check-approvals':
        return await this.checkApprovals(run, now);
      case 'submit-to-ca':
        return await this.submit(run, now);
      case 'collect':
        return await this.collect(run, now);
      case 'attach':
        return await this.attach(run);
      case 'attach-revoked':
        return await this.attach(run, step.error);
      case 'wait':
        return await this.ends.end(run, { dueAt: step.until });
      case 'fail':
        return await this.ends.fail(run, step.error, step.final, now);
      case 'cancel':
        return await this.ends.end(run, { state: 'canceled', lastError: step.error });
      case 'done':
        return await this.ends.end(run, { state: run.issuance.state });
    }
  }

  private async publishApprovals(run: IssuanceRun): StepResult {
    const { publishing } = this.ports;
    await publishing.want(run);
    return { ...run, coverage: await publishing.coverageOf(run), published: true };
  }

  private async checkApprovals(run: IssuanceRun, now: Date): StepResult {
    const { issuance, delegationLabels: labels, product, terms, coverage } = run;
    const acceptsParentRecords = this.ports.issuers.acceptsParentRecords(product);
    const { approverEmails } = terms;
    const subject = { issuance, labels, records: coverage.records, approverEmails, acceptsParentRecords };
    const isOffered = { dns: true, http: product.httpApproval, email: product.emailApproval };
    const approvers = this.ports.approvers.filter(({ method }) => isOffered[method]);
    const progress = await checkApprovals(subject, approvers, now);
    const { approvals, nextCheckAt } = progress;
    if (nextCheckAt !== null) return await this.ends.end(run, { approvals, dueAt: nextCheckAt });
    // Stored with the next write: until then nothing depends on it, and checking again costs a look-up.
    return { ...run, issuance: { ...run.issuance, approvals } };
  }

  private async submit(run: IssuanceRun, now: Date): StepResult {
    const fresh = freshlyApproved(run.issuance.approvals, now);
    if (fresh.some(({ status }) => status === 'pending')) {
      const issuance = { ...run.issuance, approvals: fresh };
      return { ...run, issuance, coverage: await this.ports.publishing.coverageOf({ ...run, issuance }) };
    }
    const submitted = await this.ports.issuers.submit(certificateRequest(run));
    const { approvals } = run.issuance;
    if (submitted.kind === 'submitted') {
      const {
        reference: caReference,
        trial = run.trial,
        isStored = false,
        extended,
        begun = null,
      } = submitted;
      if (extended !== undefined) run.held.lengthened(extended.requestedMs, extended.forMs);
      const progress = { approvals, caReference, lastError: null };
      const kept = isStored ? await this.keepStored(run, progress) : await this.keep(run, progress);
      return { ...kept, trial, begun };
    }
    const { error, until, final, waitsFor, stalled, backsOff = false } = submitted;
    if (stalled) return await this.ends.stall(run, error, until, { approvals });
    const also = { approvals, ...(waitsFor.length > 0 ? { waitsFor } : {}) };
    return until === null || backsOff
      ? await this.ends.fail(run, error, final, now, also, until)
      : await this.ends.rest(run, error, until, also);
  }

  private async collect(run: IssuanceRun, now: Date): StepResult {
    const reference = run.issuance.caReference;
    if (reference === null) throw new Error('collect comes after submit');
    const collected = await this.ports.issuers.collect(reference, certificateRequest(run));
    // The CA's own attempt is over; a later one starts from scratch.
    const over = { caReference: null };
    switch (collected.kind) {
      case 'pending':
        // Clears any earlier problem.
        return collected.error === null
          ? await this.ends.end(run, { dueAt: collected.until, lastError: null })
          : await this.ends.rest(run, collected.error, collected.until);
      case 'unavailable':
        return await this.ends.fail(run, collected.error, false, now);
      case 'stalled':
        return await this.ends.stall(run, collected.error, collected.until);
      case 'down':
        return await this.ends.rest(run, collected.error, collected.until, {
          waitsFor: [collected.authority],
        });
      case 'rejected':
        if (run.issuance.state !== 'open') {
          const { state } = run.issuance;
          return await this.ends.end(run, { ...over, state, lastError: collected.error });
        }
        return collected.until === null
          ? await this.ends.fail(run, collected.error, collected.final, now, over)
          : await this.ends.rest(run, collected.error, collected.until, over);
      case 'given_up': {
        const next = await this.keep(run, over);
        return { ...next, begun: null, refusals: [...run.refusals, collected.refusal] };
      }
      case 'issued': {
        // The exchange took time, and the CA may have issued during it.
        const faults = certificateFaults(collected.issued, run.terms, run.clock());
        // It will not be attached, so no transaction of an attachment stores this.
        if (faults.length > 0) await collected.issued.store?.(null);
        return { ...run, issued: collected.issued, faults };
      }
    }
  }

  /** @param revokedFor why it is stored as revoked; null: it is not */
  private async attach(run: IssuanceRun, revokedFor: IssuanceError | null = null): StepResult {
    const { issued, issuance, terms, lease } = run;
    if (issued === null) throw new Error('attach comes after collect');
    const attachment = {
      ...attachmentOf(issued, issuance, terms, this.ports.certificateId()),
      revokedFor,
    };
    let isAttached: boolean;
    try {
      isAttached = await this.ports.attachments.attach(lease, attachment);
    } catch (error) {
      if (!isUniqueViolation(error, 'certificate_sha256')) throw error;
      await issued.store?.(null);
      return { ...run, faults: [{ code: 'issued_before' }] };
    }
    if (isAttached) {
      annotateSpan({ 'certwright.outcome': revokedFor?.code ?? 'attached' });
      if (revokedFor === null) this.ports.events.attached(issuance, attachment);
      else this.ports.events.failed(issuance, revokedFor, true);
      this.ports.events.changed(issuance);
      return null;
    }
    await issued.store?.(null);
    return await this.ends.end(run, { state: 'canceled' });
  }

  /** Stores the changes of a step, and continues under the same lease. */
  private async keep(run: IssuanceRun, progress: StepProgress): Promise<IssuanceRun> {
    const requestedMs = performance.now();
    await this.progress.save(run, progress, { keepForMs: leaseMs });
    run.held.lengthened(requestedMs, leaseMs);
    return withProgress(run, progress);
  }

  /** The same for changes that the CA's adapter has stored. */
  private async keepStored(run: IssuanceRun, progress: StepProgress): Promise<IssuanceRun> {
    this.progress.saved(run.stored, progress);
    await run.held.hold(leaseMs / 2);
    return withProgress(run, progress);
  }
}

function withProgress(run: IssuanceRun, progress: StepProgress): IssuanceRun {
  const stored = { ...run.stored, ...progress };
  return { ...run, stored, issuance: { ...run.issuance, ...progress } };
}

const neverPause: Pause = async () => await Promise.resolve(false);

/** An order may be older than the list of this release. */
function isKnown(spkiSha256: Uint8Array): boolean {
  return knownKeySource(Buffer.from(spkiSha256).toString('hex')) !== undefined;
}
