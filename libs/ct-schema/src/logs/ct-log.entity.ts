import { Check, Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** `rfc6962`: get-entries. `static`: static-ct-api, checkpoints and tiles. */
export type CtLogKind = 'rfc6962' | 'static';

/** A log that is followed, and how far. What was ingested of it is [start_index, position), each entry once. */
@Entity('ct_log')
@Check('ct_log_kind', `kind IN ('rfc6962', 'static')`)
@Check('ct_log_log_id_length', `octet_length(log_id) = 32`)
@Check('ct_log_position', `position >= start_index AND start_index >= 0`)
@Check('ct_log_stopped', `(stopped_at IS NULL) = (stopped_reason IS NULL)`)
@Index('ct_log_due', ['dueAt'], { where: 'enabled AND stopped_at IS NULL' })
export class CtLogEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'ct_log_pkey',
  })
  id!: number;

  @Index('ct_log_log_id', { unique: true })
  @Column('bytea', { name: 'log_id', comment: 'SHA-256 over the DER SubjectPublicKeyInfo of the log' })
  logId!: Buffer;

  @Column('text')
  description!: string;

  @Column('text')
  operator!: string;

  @Column('text')
  kind!: CtLogKind;

  /** Where entries are read: ends with a slash. */
  @Column('text')
  url!: string;

  @Column('text', { nullable: true, comment: 'first line of its checkpoints; null for rfc6962' })
  origin!: string | null;

  @Column('bytea', { name: 'key_der', comment: 'DER SubjectPublicKeyInfo' })
  keyDer!: Buffer;

  @Column('integer', { name: 'mmd_s', comment: 'maximum merge delay, seconds' })
  mmdS!: number;

  @Column('timestamptz', { name: 'interval_start', nullable: true, comment: 'of a temporal shard' })
  intervalStart!: Date | null;

  @Column('timestamptz', { name: 'interval_end', nullable: true, comment: 'exclusive' })
  intervalEnd!: Date | null;

  /** As the list says: `usable`, `readonly`, `retired` … */
  @Column('text', { name: 'list_state' })
  listState!: string;

  /** Whether it is to be followed. */
  @Column('boolean')
  enabled!: boolean;

  /** An error that repetition does not fix: a fork, a rollback, an invalid signature. Needs an operator. */
  @Column('timestamptz', { name: 'stopped_at', nullable: true })
  stoppedAt!: Date | null;

  @Column('text', { name: 'stopped_reason', nullable: true })
  stoppedReason!: string | null;

  @Column('bigint', { name: 'start_index', default: 0, comment: 'first entry that is ingested' })
  startIndex!: string;

  @Column('bigint', { default: 0, comment: 'next entry that is ingested' })
  position!: string;

  /** Compact range over [0, position): hashes of perfect subtrees from left to right, 32 bytes each. */
  @Column('bytea', { name: 'tree_state', default: '\\x' })
  treeState!: Buffer;

  @Column('bigint', { name: 'head_size', default: 0, comment: 'of the newest signed head that was verified' })
  headSize!: string;

  @Column('bytea', { name: 'head_root', nullable: true })
  headRoot!: Buffer | null;

  @Column('timestamptz', {
    name: 'head_at',
    nullable: true,
    comment: 'the time that the head was signed with',
  })
  headAt!: Date | null;

  @Column('bytea', {
    name: 'head_signed',
    nullable: true,
    comment: 'STH as JSON, or checkpoint note, as fetched',
  })
  headSigned!: Buffer | null;

  /** The ingested set was seen to hash to a signed root at this size. */
  @Column('bigint', { name: 'verified_size', default: 0 })
  verifiedSize!: string;

  @Column('bigint', { name: 'entries_odd', default: 0, comment: 'entries that could not be read' })
  entriesOdd!: string;

  @Column('integer', { default: 0, comment: 'failures in a row' })
  failures!: number;

  @Column('text', { name: 'last_error', nullable: true })
  lastError!: string | null;

  @Column('timestamptz', { name: 'due_at', default: () => 'now()' })
  dueAt!: Date;

  @Column('bigint', { name: 'lease_token', default: 0, comment: 'fencing token' })
  leaseToken!: string;

  @Column('timestamptz', { name: 'leased_until', nullable: true, comment: 'by the clock of the database' })
  leasedUntil!: Date | null;

  @Column('timestamptz', { name: 'ingested_at', nullable: true, comment: 'newest batch' })
  ingestedAt!: Date | null;

  @Column('timestamptz', {
    name: 'entry_at',
    nullable: true,
    comment: 'timestamp of the newest ingested entry',
  })
  entryAt!: Date | null;

  @Column('double precision', {
    name: 'entries_per_second',
    default: 0,
    comment: 'average that decays within a minute, as of ingested_at',
  })
  entriesPerSecond!: number;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
