import type { HostedChallengeRecords } from '../integrations/hosted-challenge-records';
import type { HostedRecords } from './hosted-records';

/** Interval of removing values no longer needed, ms. */
const restMs = 5_000;
/** Pause after an error, to limit the cost of a record that cannot be removed. */
const afterFaultMs = 60_000;

/**
 * Removes values that are no longer needed from zones of integrations. @returns a function that runs one round and
 * returns the pause until the next, ms
 */
export function clearHosted(
  rows: Pick<HostedChallengeRecords, 'toBeCleared' | 'forgetUnreachable'>,
  records: Pick<HostedRecords, 'clear'>,
): () => Promise<number> {
  return async () => {
    await rows.forgetUnreachable();
    let failed = false;
    for (const integrationId of await rows.toBeCleared())
      failed = (await records.clear(integrationId)) === 'failed' || failed;
    return failed ? afterFaultMs : restMs;
  };
}
