import { LeaseLost } from '@certwright/postgres';
import type { Issuance, IssuanceError } from '@certwright/issuance';
import type { Attachment } from '@certwright/ordering';

/** What an operator wants to know of an issuance: log lines and counters; and what wakes whoever waits for it. */
export interface IssuanceEvents {
  /** Callers see something new of it, and it is committed. */
  changed(issuance: Pick<Issuance, 'id'>): void;
  attached(issuance: Issuance, attachment: Attachment): void;
  /** `final`: somebody must look at it. */
  failed(issuance: Issuance, error: IssuanceError, final: boolean): void;
  /** It waits for what is nobody's failure, such as a limit of the CA. */
  resting(issuance: Issuance, error: IssuanceError, until: Date): void;
  /** Another worker has it; nothing was written. */
  leaseLost(issuance: Issuance, error: LeaseLost): void;
  /** Something that is not foreseen. */
  stumbled(issuance: Issuance, error: unknown): void;
}
