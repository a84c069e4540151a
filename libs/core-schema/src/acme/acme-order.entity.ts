import type { Outcome } from '@certwright/issuance';
import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { IssuanceEntity } from '../issuances/issuance.entity';
import { CaAccountEntity } from './ca-account.entity';
import { CertificateAuthorityEntity } from './certificate-authority.entity';

/** State of the challenge of one authorization. */
export interface AcmeChallenge {
  /** Without `*.`. */
  readonly dnsName: string;
  readonly wildcard: boolean;
  readonly authorizationUrl: string;
  readonly challengeUrl: string;
  readonly type: 'dns-01' | 'http-01' | 'dns-persist-01';
  readonly token: string;
  /** RFC 3339; null until the CA was requested to validate. */
  readonly respondedAt: string | null;
}

/** One order at a CA (RFC 8555, section 7.1.3) for one issuance. Its URL is stored before it is finalized. */
@Entity('acme_order')
@Check('acme_order_state', `state IN ('wanted', 'open', 'issued', 'failed')`)
@Check('acme_order_url_when_open', `state = 'wanted' OR state = 'failed' OR order_url IS NOT NULL`)
@Index('acme_order_one_per_issuance', ['issuanceId'], { unique: true, where: `state <> 'failed'` })
@Index('acme_order_one_per_url', ['orderUrl'], { unique: true, where: `state <> 'failed'` })
@Index('acme_order_issuance', ['issuanceId', 'id'])
export class AcmeOrderEntity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @ForeignKey(() => IssuanceEntity)
  @Column('bigint', { name: 'issuance_id' })
  issuanceId!: string;

  @ForeignKey(() => CertificateAuthorityEntity)
  @Column('text')
  authority!: string;

  @ForeignKey(() => CaAccountEntity)
  @Column('bigint', { name: 'ca_account_id' })
  caAccountId!: string;

  @Column('text', { nullable: true })
  profile!: string | null;

  /** `wanted`: the request may have been sent to the CA; `open`: its URL is known. */
  @Column('text')
  state!: 'wanted' | 'open' | 'issued' | 'failed';

  @Column('text', { name: 'order_url', nullable: true })
  orderUrl!: string | null;

  @Column('text', { name: 'certificate_url', nullable: true })
  certificateUrl!: string | null;

  @Column('jsonb', { default: () => `'[]'` })
  challenges!: AcmeChallenge[];

  @Column('text', {
    nullable: true,
    comment: 'ARI identifier (RFC 9773) of the certificate that it replaces',
  })
  replaces!: string | null;

  @Column('timestamptz', {
    name: 'finalized_at',
    nullable: true,
    comment: 'before the request to the CA to issue',
  })
  finalizedAt!: Date | null;

  /** For releases without outcomes; read with `storedOutcome`. */
  @Column('text', { nullable: true, comment: 'why it failed, in words for the caller' })
  problem!: string | null;

  @Column('jsonb', { nullable: true, comment: 'counts only with the text of problem' })
  outcome!: Outcome | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'closed_at', nullable: true })
  closedAt!: Date | null;
}
