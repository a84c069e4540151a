import { LeaseLost } from '@certwright/postgres';
import type { GatewayFault } from '@certwright/gateway-client';
import type { LeasedIntegration } from '@certwright/dns-integrations';
import type { LeasedRecord } from './leased-records';

/** What an operator wants to know of integrations and their records: log lines and counters. */
export interface IntegrationEvents {
  added(record: LeasedRecord): void;
  /** Every authoritative server answers with it. */
  stands(record: LeasedRecord): void;
  removed(record: LeasedRecord): void;
  /** Of one record; it is tried again. */
  recordFailed(record: LeasedRecord, fault: GatewayFault): void;
  zonesFailed(integration: LeasedIntegration['integration'], fault: GatewayFault): void;
  /** Another worker has it; nothing was written. */
  leaseLost(integration: LeasedIntegration['integration'], error: LeaseLost): void;
}
