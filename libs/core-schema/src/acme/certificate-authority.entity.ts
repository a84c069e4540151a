import type { Outcome } from '@certwright/issuance';
import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** Maximum requests within a time; implemented as a token bucket that refills evenly. */
export interface CaLimit {
  readonly count: number;
  /** Seconds in which `count` tokens refill. */
  readonly perS: number;
}

/** The CA's published limits; omitted ones are unlimited. */
export interface CaLimits {
  readonly newOrders?: CaLimit;
  readonly perRegisteredDomain?: CaLimit;
  readonly perNameSet?: CaLimit;
  /** Per name. */
  readonly failedAuthorizations?: CaLimit;
  /** Whether an order with `replaces` (RFC 9773) is exempt from the limits. Default: it counts like any other. */
  readonly replacementsExempt?: boolean;
  /** Maximum names in a certificate under any profile; default: the maximum of the product. */
  readonly maxDnsNames?: number;
  /** By profile, in place of those for any. */
  readonly profileLimits?: Readonly<Record<string, { readonly maxDnsNames?: number }>>;
}

/** Why a CA counts as down, and for which requests. */
export interface CaOutage {
  /** `new_orders`: it accepts no order; those that it has accepted go on. */
  readonly scope: 'new_orders' | 'everything';
  readonly problem: Outcome;
}

/** A CA that supports ACME (RFC 8555). An operator adds one without a code change. */
@Entity('certificate_authority')
@Check('certificate_authority_name', `name ~ '^[a-z0-9][a-z0-9-]{0,62}$' AND name <> 'built-in'`)
@Check('certificate_authority_directory', `directory_url LIKE 'https://%'`)
@Check('certificate_authority_down_for', `down_for IN ('new_orders', 'everything')`)
@Check('certificate_authority_eab', `(eab_key_id IS NULL) = (eab_hmac_sealed IS NULL)`)
export class CertificateAuthorityEntity {
  @PrimaryColumn('text')
  name!: string;

  @Column('text', { name: 'directory_url' })
  directoryUrl!: string;

  /** Hosts, besides the directory's, that URLs in its responses may have. */
  @Column('text', { name: 'allowed_hosts', array: true, default: () => `'{}'`, comment: 'host or host:port' })
  allowedHosts!: string[];

  /** PEM; additional trusted roots for the connection to the CA. */
  @Column('text', { name: 'tls_roots', nullable: true })
  tlsRoots!: string | null;

  /** Additional trusted roots of its certificates, besides those that browsers trust. */
  @Column('bytea', { name: 'trusted_roots', array: true, default: () => `'{}'`, comment: 'DER' })
  trustedRoots!: Buffer[];

  /** Common name of the preferred root, if the CA offers several chains. */
  @Column('text', { name: 'preferred_root', nullable: true })
  preferredRoot!: string | null;

  @Column('text', { array: true, default: () => `'{}'`, comment: 'mailto: URLs' })
  contacts!: string[];

  @Column('text', { name: 'eab_key_id', nullable: true })
  eabKeyId!: string | null;

  @Column('bytea', {
    name: 'eab_hmac_sealed',
    nullable: true,
    comment: 'sealed external account binding key',
  })
  eabHmacSealed!: Buffer | null;

  /** Names of this CA in CAA records (RFC 8659, section 4.2); empty: only the CA checks CAA. */
  @Column('text', { name: 'caa_domains', array: true, default: () => `'{}'` })
  caaDomains!: string[];

  @Column('jsonb', { default: () => `'{}'` })
  limits!: CaLimits;

  @Column('boolean', { default: true })
  enabled!: boolean;

  /**
   * Null: it is not down. Set together with `downUntil`; a release that only supports that column leaves this one
   * null.
   */
  @Column('timestamptz', { name: 'down_since', nullable: true })
  downSince!: Date | null;

  /** The next probe, by the clock of the database: the CA gets no request before. */
  @Column('timestamptz', { name: 'down_until', nullable: true })
  downUntil!: Date | null;

  @Column('text', {
    name: 'down_for',
    nullable: true,
    comment: 'new_orders: orders that it has accepted go on',
  })
  downFor!: CaOutage['scope'] | null;

  /** For releases without outcomes; read with `storedOutcome`. */
  @Column('text', { nullable: true, comment: 'why it is down' })
  problem!: string | null;

  @Column('jsonb', { nullable: true, comment: 'counts only with the text of problem' })
  outcome!: Outcome | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
