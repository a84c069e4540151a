import type { CtLogEntity } from '@certwright/ct-schema';
import type { Stored } from '@certwright/ct-index';
import type { LogMisbehaves, LogUnproven } from '../log-api/log-faults';
import type { EntryOutcome } from './batch';

/** Events of following logs, for log lines and metrics. */
export interface FollowEvents {
  began(log: CtLogEntity, index: number): void;
  ingested(log: CtLogEntity, outcomes: Readonly<Record<EntryOutcome, number>>, stored: Stored): void;
  /** All entries up to this position hash to a prefix of a tree that the log signed. */
  verified(log: CtLogEntity, size: number): void;
  unavailable(log: CtLogEntity, message: string, restMs: number): void;
  /** The log signed a head without proving it consistent with the others; reported once per head. */
  unproven(log: CtLogEntity, fault: LogUnproven): void;
  stopped(log: CtLogEntity, fault: LogMisbehaves): void;
  leaseLost(log: CtLogEntity): void;
  /** The database lacks what this process has committed. */
  restored(): void;
  failed(log: CtLogEntity, error: unknown): void;
}
