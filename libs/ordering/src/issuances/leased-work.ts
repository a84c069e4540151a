import type { Issuance, Plan, Product, Terms } from '@certwright/issuance';
import type { Lease } from '@certwright/core-schema';

/** All that deciding about one issuance takes, read in the statement that leased it. */
export interface LeasedWork {
  readonly lease: Lease;
  readonly issuance: Issuance;
  readonly terms: Terms;
  readonly plan: Pick<Plan, 'paused' | 'closedAt'>;
  readonly product: Product;
  /** The key of the terms stands on the list of blocked keys. */
  readonly keyBlocked: boolean;
  /** Name without `*.` → the label its standing record points to. */
  readonly delegationLabels: ReadonlyMap<string, string>;
  /** The account has, or had, an integration: what it covers is worth a look. */
  readonly hasIntegrations: boolean;
  /** End of the valid certificate in use, if there is one. */
  readonly validUntil: Date | null;
  /** The database's clock. */
  readonly now: Date;
}
