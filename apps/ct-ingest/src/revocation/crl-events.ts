import type { Applied } from './store/apply-crl';
import type { CrlCounts, DueCrl, StaleCrl } from './store/ct-crls';

/** What is to be told of revocation lists. */
export interface CrlEvents {
  applied(crl: DueCrl, applied: Applied, tookMs: number): void;
  unchanged(crl: DueCrl): void;
  /** A list came that cannot be accepted. */
  refused(crl: DueCrl, problem: string, restMs: number): void;
  unavailable(crl: DueCrl, problem: string, restMs: number): void;
  /** Nobody foresaw that. */
  stumbled(crl: DueCrl, error: unknown): void;
}

export interface CrlWatchEvents {
  counted(counts: CrlCounts): void;
  /** Certificates that name it have no known status any more. */
  wentStale(crl: StaleCrl): void;
  freshAgain(crl: StaleCrl): void;
}
