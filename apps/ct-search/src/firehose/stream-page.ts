import { type IssuancePage, pageOfAll, positionBefore } from '@certwright/ct-index';
import { Problem } from '@certwright/errors';
import type { IndexReader } from '../ct-index/index-readers';

/** Issuances on a page of the stream. */
export const streamPageSize = 1_000;

/** How far back the stream begins for who has no place in it yet, and how far back a place may lie; ms. */
const [beginsBackMs, retainedMs] = [3_600_000, 24 * 3_600_000];

/**
 * The next issuances, whatever their names, expired ones too, in the order of discovery. Whoever has seen everything is never
 * too late, however long nothing was discovered: what counts is the age of the next issuance. A place ahead of the newest one is
 * answered like the end of the stream: a replica of the database that lags a moment must not tell a client that it is wrong.
 *
 * @param after null: from what was discovered within the last hour
 * @throws Problem `lagging_client`, `timeout`, `service_outage`
 */
export async function streamPage(
  reader: IndexReader,
  after: string | null,
  now: Date,
): Promise<IssuancePage> {
  const from = after ?? (await positionBefore(reader, new Date(now.getTime() - beginsBackMs)));
  const page = await pageOfAll(reader, { after: from, limit: streamPageSize });
  const [next] = page.issuances;
  if (next !== undefined && next.discoveredAt.getTime() < now.getTime() - retainedMs) {
    throw new Problem(
      'lagging_client',
      'What follows this id was discovered more than 24 hours ago, and is not streamed any more. Without after the stream begins anew.',
      { field: 'after' },
    );
  }
  return page;
}
