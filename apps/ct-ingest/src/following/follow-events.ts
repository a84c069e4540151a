import type { CtLogEntity, Stored } from '@certwright/ct-persistence';
import type { LogMisbehaves } from '../log-api/log-faults';
import type { EntryOutcome } from './batch';

/** What happens while logs are followed: for log lines and metrics. */
export interface FollowEvents {
  began(log: CtLogEntity, index: number): void;
  ingested(log: CtLogEntity, outcomes: Readonly<Record<EntryOutcome, number>>, stored: Stored): void;
  /** The whole tree up to a signed head was recomputed from what was ingested. */
  verified(log: CtLogEntity, size: number): void;
  unavailable(log: CtLogEntity, message: string, restMs: number): void;
  stopped(log: CtLogEntity, fault: LogMisbehaves): void;
  leaseLost(log: CtLogEntity): void;
  stumbled(log: CtLogEntity, error: unknown): void;
}
