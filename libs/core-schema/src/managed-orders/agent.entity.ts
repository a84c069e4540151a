import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { ClusterEntity } from '../accounts/cluster.entity';

/** A token that hosts join a cluster with. */
@Entity('cluster_enrolment')
@ForeignKey(() => ClusterEntity, ['accountId', 'cluster'], ['accountId', 'name'], { onDelete: 'CASCADE' })
@Check('cluster_enrolment_uses', `uses BETWEEN 1 AND 1000 AND used BETWEEN 0 AND uses`)
@Index('cluster_enrolment_cluster', ['accountId', 'cluster', 'createdAt'])
export class ClusterEnrolmentEntity {
  @PrimaryColumn('bigint', { default: () => 'random_id()', comment: 'random 48-bit integer' })
  id!: string;

  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Column({ type: 'text', collation: 'C' })
  cluster!: string;

  @Index('cluster_enrolment_token', { unique: true })
  @Column('bytea', { name: 'token_sha256', comment: 'SHA-256 over the text of the token' })
  tokenSha256!: Buffer;

  @Column('integer')
  uses!: number;

  @Column('integer', { default: 0 })
  used!: number;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt!: Date | null;
}

/** A program on a customer's host: member of one cluster until it is removed. */
@Entity('agent')
@ForeignKey(() => ClusterEntity, ['accountId', 'cluster'], ['accountId', 'name'], { onDelete: 'CASCADE' })
@Check('agent_keys', `octet_length(identity_key) = 32 AND octet_length(sealing_key) = 32`)
@Index('agent_cluster', ['accountId', 'cluster', 'id'])
export class AgentEntity {
  @PrimaryColumn('text', {
    collation: 'C',
    comment: 'base64url of the first 16 bytes of SHA-256 over identity_key',
  })
  id!: string;

  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Column({ type: 'text', collation: 'C' })
  cluster!: string;

  @Column('bytea', { name: 'identity_key', comment: 'Ed25519 public key, raw' })
  identityKey!: Buffer;

  @Column('bytea', { name: 'sealing_key', comment: 'X25519 public key, raw' })
  sealingKey!: Buffer;

  @Column('text', {
    nullable: true,
    comment: 'JWS of the cluster key over both keys; null: the cluster has no key',
  })
  statement!: string | null;

  @ForeignKey(() => ClusterEnrolmentEntity)
  @Column('bigint', { name: 'enrolment_id' })
  enrolmentId!: string;

  @Column('text')
  name!: string;

  @Column('text')
  version!: string;

  @Column('text')
  platform!: string;

  @Column('timestamptz', { name: 'enrolled_at', default: () => 'now()' })
  enrolledAt!: Date;

  @Column('timestamptz', { name: 'removed_at', nullable: true })
  removedAt!: Date | null;

  @Column('timestamptz', {
    name: 'last_seen_at',
    nullable: true,
    comment: 'updated every few minutes; null: not since it enrolled',
  })
  lastSeenAt!: Date | null;

  @Column('integer', {
    name: 'clock_offset_s',
    nullable: true,
    comment: 'its clock minus that of the server',
  })
  clockOffsetS!: number | null;

  @Column('text', { nullable: true, comment: 'as it reported it' })
  problem!: string | null;

  @Column('bigint', { name: 'report_number', default: 0, comment: 'of its newest report' })
  reportNumber!: string;
}
