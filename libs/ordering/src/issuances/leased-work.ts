import type { Issuance, Plan, Product, Terms } from '@certwright/issuance';
import type { Lease } from '@certwright/core-schema';

/** Inputs for deciding about one issuance, read by the statement that leased it. */
export interface LeasedWork {
  readonly lease: Lease;
  readonly issuance: Issuance;
  readonly terms: Terms;
  readonly plan: Pick<Plan, 'paused' | 'closedAt'>;
  readonly product: Product;
  /** The key of the terms is on the list of blocked keys. */
  readonly keyBlocked: boolean;
  /** Name without `*.` → the label its standing record points to. */
  readonly delegationLabels: ReadonlyMap<string, string>;
  /** An earlier lease existed, under which something may be submitted, or a certificate is replaced. */
  readonly hasHistory: boolean;
  /** The account has, or had, an integration: its zones are worth checking. */
  readonly hasIntegrations: boolean;
  /** End of the valid certificate in use, if any. */
  readonly validUntil: Date | null;
  /** The database's clock. */
  readonly now: Date;
}
