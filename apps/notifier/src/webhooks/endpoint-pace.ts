import { maxPlaces, maxSlowPlaces, slowAfterMs } from './bounds';

/**
 * What this process knows of an endpoint. `quick`: its last answer was a success and came soon. `untested`: not tried by
 * this process yet. `doubtful`: it failed, or is slow.
 */
export type Standing = 'quick' | 'untested' | 'doubtful';

export interface Pace {
  /** Deliveries to send at the same time. */
  readonly places: number;
  readonly standing: Standing;
}

export interface Tried {
  readonly isDelivered: boolean;
  readonly durationMs: number;
}

export const firstPace = (isFailing: boolean): Pace => ({
  places: 1,
  standing: isFailing ? 'doubtful' : 'untested',
});

/** Each success adds a place, so that they double with each round of answers; a failure takes half of them. */
export function paceAfter({ places }: Pace, { isDelivered, durationMs }: Tried): Pace {
  if (!isDelivered) return { places: Math.max(1, Math.floor(places / 2)), standing: 'doubtful' };
  return durationMs < slowAfterMs
    ? { places: Math.min(maxPlaces, places + 1), standing: 'quick' }
    : { places: Math.min(maxSlowPlaces, places + 1), standing: 'doubtful' };
}

/** @param unansweredMs how long the oldest delivery under way has been waiting for its answer; 0 without one */
export function paceWhile(pace: Pace, unansweredMs: number): Pace {
  return unansweredMs < slowAfterMs
    ? pace
    : { places: Math.min(maxSlowPlaces, pace.places), standing: 'doubtful' };
}
