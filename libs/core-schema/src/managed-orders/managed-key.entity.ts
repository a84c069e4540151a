import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { ClusterEntity } from '../accounts/cluster.entity';
import { PlanEntity } from '../plans/plan.entity';

export type KeyRequestReason = 'first' | 'renewal' | 'rekey';

/** The owner of a plan is to make a new key, and to modify the plan by its CSR. */
@Entity('key_request')
@Check('key_request_reason', `reason IN ('first', 'renewal', 'rekey')`)
@Check('key_request_falls_back', `(falls_back_at IS NOT NULL) = (reason = 'renewal')`)
@Check('key_request_assigned', `(agent_id IS NULL) = (assigned_until IS NULL)`)
export class KeyRequestEntity {
  @ForeignKey(() => PlanEntity)
  @PrimaryColumn('bigint', { name: 'plan_id' })
  planId!: string;

  @Column({
    type: 'bigint',
    generated: 'identity',
    generatedIdentity: 'ALWAYS',
    comment: 'another one for each request',
  })
  id!: string;

  @Column('text')
  reason!: KeyRequestReason;

  @Column('timestamptz', { name: 'requested_at', default: () => 'now()' })
  requestedAt!: Date;

  @Column('timestamptz', { name: 'due_at', comment: 'not to be assigned before' })
  dueAt!: Date;

  @Column('timestamptz', {
    name: 'falls_back_at',
    nullable: true,
    comment: 'when the renewal goes on with the present key',
  })
  fallsBackAt!: Date | null;

  @Index('key_request_of_agent', { where: 'agent_id IS NOT NULL' })
  @Column({
    type: 'text',
    name: 'agent_id',
    nullable: true,
    collation: 'C',
    comment: 'who makes the key; null: not assigned',
  })
  agentId!: string | null;

  @Column('timestamptz', { name: 'assigned_until', nullable: true })
  assignedUntil!: Date | null;

  @Column('timestamptz', {
    name: 'unpaid_at',
    nullable: true,
    comment: 'when the account last could not pay for the certificate of the new key',
  })
  unpaidAt!: Date | null;
}

/** A key that an agent made for an order of its cluster. The key itself is only on hosts. */
@Entity('managed_key')
@ForeignKey(() => ClusterEntity, ['accountId', 'cluster'], ['accountId', 'name'], { onDelete: 'CASCADE' })
@Check('managed_key_hash', `octet_length(spki_sha256) = 32`)
@Check(
  'managed_key_sealer',
  `(sealer IS NULL) = (seal_until IS NULL) AND (sealer IS NULL) = (seal_version IS NULL)`,
)
@Index('managed_key_to_seal', ['sealer', 'sealVersion'], { where: 'sealer IS NOT NULL' })
export class ManagedKeyEntity {
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @PrimaryColumn('text', { collation: 'C' })
  cluster!: string;

  @PrimaryColumn('bytea', { name: 'spki_sha256', comment: 'SHA-256 over the DER SubjectPublicKeyInfo' })
  spkiSha256!: Buffer;

  @Index('managed_key_plan')
  @ForeignKey(() => PlanEntity)
  @Column('bigint', { name: 'plan_id' })
  planId!: string;

  @Column({ type: 'text', name: 'made_by', collation: 'C', comment: 'agent that generated it' })
  madeBy!: string;

  @Column('bigint', { name: 'task_id', comment: 'the key request that it responded to' })
  taskId!: string;

  @Column('bytea', { name: 'csr_sha256', comment: 'SHA-256 over the DER PKCS#10 that it came with' })
  csrSha256!: Buffer;

  @Column('integer', { comment: 'of the plan, after it came' })
  revision!: number;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column({
    type: 'text',
    nullable: true,
    collation: 'C',
    comment: 'agent that is to seal it for members that lack it; null: none',
  })
  sealer!: string | null;

  @Column('timestamptz', { name: 'seal_until', nullable: true })
  sealUntil!: Date | null;

  @Column('bigint', {
    name: 'seal_version',
    nullable: true,
    comment: 'version of the cluster when the sealer was chosen',
  })
  sealVersion!: string | null;
}

/** A key sealed by one member to another one; the server cannot open it. */
@Entity('sealed_key')
@ForeignKey(
  () => ManagedKeyEntity,
  ['accountId', 'cluster', 'spkiSha256'],
  ['accountId', 'cluster', 'spkiSha256'],
  { onDelete: 'CASCADE' },
)
@Check(
  'sealed_key_lengths',
  `octet_length(enc) = 32 AND octet_length(signature) = 64 AND octet_length(ciphertext) <= 8192`,
)
export class SealedKeyEntity {
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @PrimaryColumn('text', { collation: 'C' })
  cluster!: string;

  @PrimaryColumn('bytea', { name: 'spki_sha256' })
  spkiSha256!: Buffer;

  @PrimaryColumn('text', { collation: 'C' })
  receiver!: string;

  @Column({ type: 'text', collation: 'C' })
  sender!: string;

  @Column('bytea', { comment: 'HPKE encapsulated key (RFC 9180)' })
  enc!: Buffer;

  @Column('bytea', { comment: 'PKCS#8 DER, sealed to the sealing key of the receiver' })
  ciphertext!: Buffer;

  @Column('bytea', { comment: 'Ed25519, by the sender' })
  signature!: Buffer;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
