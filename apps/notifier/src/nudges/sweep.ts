import { type DueRow, type Job, wakeUpRevision } from '@certwright/jobs';

/** The clock of everything that waits, and the net under every nudge that was lost, ms. */
const restMs = 1_000;

/** Nudges what is due and in nobody's hands; an id that is still queued is dropped by Redis. @returns ms to the next round */
export async function sweepOnce(
  due: () => Promise<readonly (DueRow & { readonly id: string })[]>,
  job: (id: string, revision: string) => Job,
  queues: { addAll(jobs: readonly Job[]): Promise<void> },
): Promise<number> {
  const rows = await due();
  await queues.addAll(rows.map((row) => job(row.id, wakeUpRevision(row))));
  return restMs;
}
