import type { Applied } from './store/apply-crl';
import type { CrlCounts, DueCrl, StaleCrl } from './store/ct-crls';

/** Events of fetching revocation lists. */
export interface CrlEvents {
  applied(crl: DueCrl, applied: Applied, tookMs: number): void;
  unchanged(crl: DueCrl): void;
  /** A received list was rejected. */
  refused(crl: DueCrl, problem: string, restMs: number): void;
  unavailable(crl: DueCrl, problem: string, restMs: number): void;
  /** An unexpected error. */
  failed(crl: DueCrl, error: unknown): void;
}

export interface CrlWatchEvents {
  counted(counts: CrlCounts): void;
  /** Certificates that name the list no longer have a known status. */
  wentStale(crl: StaleCrl): void;
  freshAgain(crl: StaleCrl): void;
}
