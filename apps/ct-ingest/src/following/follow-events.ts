import type { CtLogEntity } from '@certwright/ct-schema';
import type { Stored } from '@certwright/ct-index';
import type { LogMisbehaves, LogUnproven } from '../log-api/log-faults';
import type { EntryOutcome } from './batch';

/** What happens while logs are followed: for log lines and metrics. */
export interface FollowEvents {
  began(log: CtLogEntity, index: number): void;
  ingested(log: CtLogEntity, outcomes: Readonly<Record<EntryOutcome, number>>, stored: Stored): void;
  /** All entries up to there hash to a beginning of a tree that the log has signed. */
  verified(log: CtLogEntity, size: number): void;
  unavailable(log: CtLogEntity, message: string, restMs: number): void;
  /** The log has signed a head that it does not prove to be consistent with the others; the first time for this head. */
  unproven(log: CtLogEntity, fault: LogUnproven): void;
  stopped(log: CtLogEntity, fault: LogMisbehaves): void;
  leaseLost(log: CtLogEntity): void;
  stumbled(log: CtLogEntity, error: unknown): void;
}
