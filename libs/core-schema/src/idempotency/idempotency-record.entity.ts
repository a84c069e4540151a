import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/** The response to a POST with an `Idempotency-Key`, written in the transaction of its changes. Kept for 24 h. */
@Entity('idempotency_record')
export class IdempotencyRecordEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @PrimaryColumn('bytea', { name: 'request_sha256', comment: 'SHA-256 over method, NUL, path, NUL, key' })
  requestSha256!: Buffer;

  @Column('bytea', {
    name: 'body_sha256',
    comment: 'SHA-256 over the body as canonical JSON; sealed when the body holds credentials',
  })
  bodySha256!: Buffer;

  @Column('integer', {
    comment: '0: reserved; the body is the token of the request that holds the reservation',
  })
  status!: number;

  @Column('jsonb')
  headers!: Record<string, string>;

  @Column('text')
  body!: string;

  @Index('idempotency_record_created')
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
