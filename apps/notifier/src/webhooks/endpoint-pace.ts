import { maxPlaces, maxSlowPlaces, slowAfterMs } from './bounds';

/**
 * This process's view of an endpoint. `quick`: its last response was a fast success. `untested`: not tried by this
 * process yet. `doubtful`: it failed, or is slow.
 */
export type Standing = 'quick' | 'untested' | 'doubtful';

export interface Pace {
  /** Max concurrent deliveries. */
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

/** Each success adds a slot, so that they double with each round of responses; a failure halves them. */
export function paceAfter({ places }: Pace, { isDelivered, durationMs }: Tried): Pace {
  if (!isDelivered) return { places: Math.max(1, Math.floor(places / 2)), standing: 'doubtful' };
  return durationMs < slowAfterMs
    ? { places: Math.min(maxPlaces, places + 1), standing: 'quick' }
    : { places: Math.min(maxSlowPlaces, places + 1), standing: 'doubtful' };
}

/** @param waitingMs waiting time of the oldest delivery in progress; 0 without one */
export function paceWhile(pace: Pace, waitingMs: number): Pace {
  return waitingMs < slowAfterMs
    ? pace
    : { places: Math.min(maxSlowPlaces, pace.places), standing: 'doubtful' };
}
