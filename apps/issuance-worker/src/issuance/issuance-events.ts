import { LeaseLost } from '@certwright/postgres';
import type { Issuance, IssuanceError } from '@certwright/issuance';
import type { Attachment } from '@certwright/ordering';

/** Events of an issuance for operators (log lines and counters), and wake-ups for waiting callers. */
export interface IssuanceEvents {
  /** A change that callers can see was committed. */
  changed(issuance: Pick<Issuance, 'id'>): void;
  attached(issuance: Issuance, attachment: Attachment): void;
  /** `final`: an operator must look at it. */
  failed(issuance: Issuance, error: IssuanceError, final: boolean): void;
  /** It waits for something that is not a failure, such as a limit of the CA. */
  resting(issuance: Issuance, error: IssuanceError, until: Date): void;
  /** Another worker holds the lease; nothing was written. */
  leaseLost(issuance: Issuance, error: LeaseLost): void;
  /** An unexpected error. */
  unexpectedError(issuance: Issuance, error: unknown): void;
}
