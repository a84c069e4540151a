import type { ExpirationNotices } from './expiration-notices';

/** Certificates of one round: held for a few statements each. */
const batch = 100;

/** Thresholds are days apart. */
const restMs = 30_000;

/** Writes the notices that are due. @returns how long to rest, ms */
export async function noticeOnce(notices: ExpirationNotices): Promise<number> {
  const { found } = await notices.writeDue(batch);
  return found < batch ? restMs : 0;
}
