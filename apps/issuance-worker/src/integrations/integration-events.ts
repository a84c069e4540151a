import { LeaseLost } from '@certwright/postgres';
import type { GatewayFault } from '@certwright/gateway-client';
import type { LeasedIntegration } from '@certwright/dns-integrations';
import type { LeasedRecord } from './leased-records';

/** Events of integrations and their records for operators: log lines and counters. */
export interface IntegrationEvents {
  added(record: LeasedRecord): void;
  /** Every authoritative server returns it. */
  standing(record: LeasedRecord): void;
  removed(record: LeasedRecord): void;
  /** Of one record; it is retried. */
  recordFailed(record: LeasedRecord, fault: GatewayFault): void;
  zonesFailed(integration: LeasedIntegration['integration'], fault: GatewayFault): void;
  /** Another worker holds the lease; nothing was written. */
  leaseLost(integration: LeasedIntegration['integration'], error: LeaseLost): void;
}
