import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/** Endpoint of an account for change events. */
@Entity('webhook_endpoint')
@Check('webhook_endpoint_id_is_a_json_number', `id BETWEEN 1 AND 9007199254740991`)
@Check(
  'webhook_endpoint_previous_secret',
  `(previous_secret_sealed IS NULL) = (previous_secret_until IS NULL)`,
)
@Check(
  'webhook_endpoint_older_secrets',
  `cardinality(older_secrets_sealed) = cardinality(older_secrets_until)`,
)
export class WebhookEndpointEntity {
  @PrimaryColumn('bigint', { comment: 'random 48-bit integer' })
  id!: string;

  @Index('webhook_endpoint_account')
  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  /** Without user and password. */
  @Column('text')
  url!: string;

  @Column('bytea', {
    name: 'credentials_sealed',
    nullable: true,
    comment: 'sealed "user:password" for Basic authentication',
  })
  credentialsSealed!: Buffer | null;

  @Column('bytea', { name: 'secret_sealed', comment: 'sealed signing secret (Standard Webhooks)' })
  secretSealed!: Buffer;

  /** Each secret signs for 24 h after it was replaced. */
  @Column('bytea', { name: 'previous_secret_sealed', nullable: true })
  previousSecretSealed!: Buffer | null;

  @Column('timestamptz', { name: 'previous_secret_until', nullable: true })
  previousSecretUntil!: Date | null;

  @Column('bytea', {
    name: 'older_secrets_sealed',
    array: true,
    default: () => `'{}'`,
    comment: 'before the previous one, oldest first',
  })
  olderSecretsSealed!: Buffer[];

  @Column('timestamptz', {
    name: 'older_secrets_until',
    array: true,
    default: () => `'{}'`,
    comment: 'until when each of them signs',
  })
  olderSecretsUntil!: Date[];

  @Column('text')
  description!: string;

  /** Only these events are delivered. */
  @Column('text', {
    array: true,
    default: () => `'{order.current_cert_changed,certificate.issued}'`,
    comment: 'names of events; monitoring.*: all of monitoring except monitoring.new_endpoint',
  })
  events!: string[];

  @Column('boolean')
  enabled!: boolean;

  /** Why the platform disabled it, as text; null: it did not. */
  @Column('text', { name: 'disabled_reason', nullable: true })
  disabledReason!: string | null;

  @Column('timestamptz', {
    name: 'failing_since',
    nullable: true,
    comment: 'first failed try since the last success',
  })
  failingSince!: Date | null;

  @Column('timestamptz', {
    name: 'failed_at',
    nullable: true,
    comment: 'newest failed try since the last success',
  })
  failedAt!: Date | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
