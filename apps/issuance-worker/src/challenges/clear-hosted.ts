import type { HostedChallengeRecords } from '../integrations/hosted-challenge-records';
import type { HostedRecords } from './hosted-records';

/** How long what nobody looks for may stand, ms. */
const restMs = 5_000;
/** After a fault, so that a record that cannot be removed costs little. */
const afterFaultMs = 60_000;

/**
 * Removes values from zones of integrations that no CA looks for any more. @returns a function that runs one round
 * and returns the pause until the next, ms
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
