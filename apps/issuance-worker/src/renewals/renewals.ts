import type { Renewals } from '@certwright/persistence';

/** Plans of one round: held for the time of a few statements. */
const batch = 500;

/** A renewal is due weeks before it is needed. */
const restMs = 5_000;

/** Opens what is due. @returns how long to rest, ms */
export async function renewOnce(renewals: Renewals): Promise<number> {
  const { found } = await renewals.openDue(batch);
  return found < batch ? restMs : 0;
}
