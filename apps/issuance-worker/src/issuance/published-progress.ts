import { isDeepStrictEqual } from 'node:util';
import type { Issuance } from '@certwright/issuance';
import type { IssuanceProgress, LeasedIssuances, LeasedWork } from '@certwright/ordering';
import type { IssuanceEvents } from './issuance-events';

/** An issuance in progress, with the state of its row. */
export interface StoredWork extends LeasedWork {
  readonly stored: Issuance;
}

/** Stores the changes of a step, and after the commit publishes what callers can see of them. */
export class PublishedProgress {
  constructor(
    private readonly issuances: Pick<LeasedIssuances, 'save'>,
    private readonly events: Pick<IssuanceEvents, 'changed'>,
  ) {}

  /** @throws LeaseLost */
  async save(
    { lease, stored }: Pick<StoredWork, 'lease' | 'stored'>,
    progress: IssuanceProgress,
    after: { keepForMs: number } | 'release',
  ): Promise<void> {
    await this.issuances.save(lease, progress, after);
    this.saved(stored, progress);
  }

  /** Publishes what another statement has stored. */
  saved(stored: Issuance, progress: IssuanceProgress): void {
    if (isSeen(stored, progress)) this.events.changed(stored);
  }
}

/** It was closed, failed or continues after a failure, or an approval was added or lost. Due times do not count. */
export function isSeen(
  before: Issuance,
  { state, failures, lastError, approvals }: IssuanceProgress,
): boolean {
  return (
    (state !== undefined && state !== before.state) ||
    (failures !== undefined && failures !== before.failures) ||
    (lastError !== undefined && !isDeepStrictEqual(lastError?.outcome, before.lastError?.outcome)) ||
    (approvals !== undefined && statusesOf(approvals) !== statusesOf(before.approvals))
  );
}

function statusesOf(approvals: Issuance['approvals']): string {
  return approvals.map(({ dnsName, status }) => `${dnsName} ${status}`).join();
}
