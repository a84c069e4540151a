import type { Outcome } from '@certwright/issuance';
import type { ProviderName, Zone } from '@certwright/gateway-contract';

/** The right to call the gateway for one integration, and to write what came of it. */
export interface IntegrationLease {
  readonly integrationId: string;
  /** The fencing token. */
  readonly token: string;
}

/** All that calling the gateway for it takes, read in the statement that leased it. */
export interface LeasedIntegration {
  readonly lease: IntegrationLease;
  readonly integration: {
    readonly id: string;
    readonly accountId: string;
    readonly provider: ProviderName;
    readonly handle: string;
    readonly state: IntegrationState;
    readonly problem: Outcome | null;
    readonly zonesDueAt: Date;
    /** Of listing the zones, in a row. */
    readonly failures: number;
    /** Not null: nothing is added any more, only removed. */
    readonly deletedAt: Date | null;
  };
  /** The database's clock. */
  readonly now: Date;
}

export type IntegrationState = 'ok' | 'failing';

/** What came of calling the gateway; what is left out stays. */
export interface IntegrationProgress {
  /** A new handle. To be written before anything else is asked: the old one may be worth nothing any more. */
  readonly handle?: string;
  readonly state?: IntegrationState;
  readonly problem?: Outcome | null;
  /** Failures of listing the zones, in a row. */
  readonly failures?: number;
  /** When the provider answered. */
  readonly checkedAt?: Date;
  /** All of them: they take the place of those that were known. Of two with one name the first is kept. */
  readonly zones?: readonly Zone[];
  readonly zonesDueAt?: Date;
}

/**
 * Whether nobody took the lease since, for statements on `dns_integration`. The time does not count: a new handle that
 * comes too late is worth storing as long as no other caller went on with the old one.
 */
export const underIntegrationLease = (id: string, token: string) =>
  `dns_integration.id = ${id} AND dns_integration.lease_token = ${token}`;
