import type { JobQueues } from '@certwright/bullmq';
import { revokeCertificate } from '@certwright/jobs';
import type { PendingRevocations } from './pending-revocations';

/** Certificates that one round nudges. */
const batch = 500;

/** How soon a lost nudge, or a CA that was away, is tried again. A CA has 24 h for the most urgent (Baseline Requirements 4.9.1.1). */
const restMs = 10_000;

const first = '0';

/**
 * Nudges what the CA was not told of, page by page and then from the start: what it refuses again and again hides nothing.
 *
 * @returns a round; it returns how long to rest, ms
 */
export function sweepRevocations(
  pending: PendingRevocations,
  jobs: Pick<JobQueues, 'addAll'>,
): () => Promise<number> {
  let after = first;
  return async () => {
    const page = await pending.page(after, batch);
    await jobs.addAll(page.map(({ id, reason }) => revokeCertificate(id, reason)));
    const last = page.length === batch ? page.at(-1) : undefined;
    after = last?.id ?? first;
    return last === undefined ? restMs : 0;
  };
}
