import type { Renewals, UnpaidRenewal } from './renewals.repository';

/** Plans of one round: held for the time of a few statements. */
const batch = 500;

/** A renewal is due weeks before it is needed. */
const restMs = 5_000;

export interface RenewalEvents {
  /** The account could not pay: nothing was opened, and it is tried again in an hour. */
  unpaid(renewal: UnpaidRenewal): void;
}

const unobserved: RenewalEvents = { unpaid: () => undefined };

/** Opens what is due. @returns how long to rest, ms */
export async function renewOnce(renewals: Renewals, events: RenewalEvents = unobserved): Promise<number> {
  const { found, unpaid } = await renewals.openDue(batch);
  for (const renewal of unpaid) events.unpaid(renewal);
  return found < batch ? restMs : 0;
}
