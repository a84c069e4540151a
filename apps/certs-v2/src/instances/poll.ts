import { badParam } from '../wire/arguments';
import { Refusal } from '../wire/reasons';

/** However long a caller would wait, seconds: proxies on the way cut connections that say nothing for longer. */
const longestPollS = 180;

/**
 * @param value of the query parameter
 * @returns how long to wait, ms; null: the caller wants an answer at once, whatever it is
 * @throws Refusal `bad_param`
 */
export function readPoll(value: unknown): number | null {
  if (value === undefined) return null;
  if (typeof value !== 'string' || !/^\d+$/.test(value)) {
    throw badParam('poll', 'bad_param', 'must be a number of seconds, once.');
  }
  return 1_000 * Math.min(Number(value), longestPollS);
}

/** The longer it has been pending, the less is missed by asking later: a twentieth of its age. */
const retryAfter = { shareOfAge: 1 / 20, leastS: 1, mostS: 300 };

/** Whole seconds until a caller may ask again. */
export function retryAfterS(openedAt: Date, now: Date): number {
  const ageS = (now.getTime() - openedAt.getTime()) / 1_000;
  const { shareOfAge, leastS, mostS } = retryAfter;
  return Math.min(Math.max(Math.ceil(ageS * shareOfAge), leastS), mostS);
}

export function notReady(retryAfterS: number): Refusal {
  return new Refusal('not_ready', 'The certificate instance is still pending.', { retryAfterS });
}
