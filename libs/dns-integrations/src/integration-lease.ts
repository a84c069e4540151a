import type { Outcome } from '@certwright/issuance';
import type { ProviderName, Zone } from '@certwright/gateway-contract';

/** The right to call the gateway for one integration, and to write the result. */
export interface IntegrationLease {
  readonly integrationId: string;
  /** The fencing token. */
  readonly token: string;
}

/** Inputs for calling the gateway, read by the statement that leased it. */
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
    /** Not null: records are only removed, not added. */
    readonly deletedAt: Date | null;
  };
  /** The database's clock. */
  readonly now: Date;
}

export type IntegrationState = 'ok' | 'failing';

/** Result of calling the gateway; omitted fields keep their value. */
export interface IntegrationProgress {
  /** A new handle. Write it before any other request: the old one may be invalid by now. */
  readonly handle?: string;
  readonly state?: IntegrationState;
  readonly problem?: Outcome | null;
  /** Failures of listing the zones, in a row. */
  readonly failures?: number;
  /** When the provider responded. */
  readonly checkedAt?: Date;
  /** The complete list, which replaces the known zones. Of two with one name the first is kept. */
  readonly zones?: readonly Zone[];
  readonly zonesDueAt?: Date;
}

/**
 * Whether the lease was not taken since, for statements on `dns_integration`. The time does not count: a late new
 * handle is worth storing as long as no other caller used the old one.
 */
export const underIntegrationLease = (id: string, token: string) =>
  `dns_integration.id = ${id} AND dns_integration.lease_token = ${token}`;
