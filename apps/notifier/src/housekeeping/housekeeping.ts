import type { Mails, WebhookDeliveries } from '@certwright/delivery';

const restMs = 10 * 60 * 1_000;
const batch = 1_000;

/** What is too old to be asked for goes; each round returns how long to rest, ms, and may run in any number of processes. */
export function housekeeping(
  deliveries: Pick<WebhookDeliveries, 'forgetOld'>,
  mails: Pick<Mails, 'forgetOld'>,
): Readonly<Record<string, () => Promise<number>>> {
  const forgetting = (old: { forgetOld(limit: number): Promise<number> }) => async () =>
    (await old.forgetOld(batch)) < batch ? restMs : 0;
  return { forgetDeliveries: forgetting(deliveries), forgetMails: forgetting(mails) };
}
