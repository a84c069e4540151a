/**
 * Places that deliveries to failing endpoints may take, so that however many endpoints are dead, the others find room.
 * Taken before it is known whether one is needed, and given back at once when not.
 */
export class FailingPlaces {
  #taken = 0;

  constructor(private readonly places: number) {}

  /** @returns gives the place back, once; null when all are taken */
  take(): (() => void) | null {
    if (this.#taken >= this.places) return null;
    this.#taken += 1;
    let held = true;
    return () => {
      if (held) this.#taken -= 1;
      held = false;
    };
  }
}
