import { type Home, young } from '@certwright/ct-schema';

/** Partitions of positions that have become one run each, as far as they have been met: where to look first. */
export class SettledHomes {
  /** Their ends, exclusive, ascending. */
  private ends: readonly Home[] = [];

  /** Where the first run behind a position probably is: the young ones follow all that have settled. */
  behind(position: number): Home {
    return this.ends.find((end) => end > position + 1) ?? young;
  }

  learn(home: Home): void {
    if (home === young || this.ends.includes(home)) return;
    this.ends = [...this.ends, home].sort((one, other) => one - other);
  }

  forget(home: Home): void {
    this.ends = this.ends.filter((end) => end !== home);
  }
}
