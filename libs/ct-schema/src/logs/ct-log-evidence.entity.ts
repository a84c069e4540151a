import { Check, Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** `unproven`: a signed head that the log has not proved to be consistent with the others so far; the others stop a log. */
export type EvidenceKind = 'fork' | 'rollback' | 'root' | 'unproven';

/** What a log has signed that contradicts what else it has signed or served: enough to show it to others. */
@Entity('ct_log_evidence')
@Check('ct_log_evidence_kind', `kind IN ('fork', 'rollback', 'root', 'unproven')`)
export class CtLogEvidenceEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'ct_log_evidence_pkey',
  })
  id!: string;

  @Index('ct_log_evidence_log')
  @Column('integer')
  log!: number;

  @Column('text', {
    comment:
      'as in ct_log.stopped_reason; unproven: a head that the log has not proved to be consistent so far',
  })
  kind!: EvidenceKind;

  @Column('text')
  problem!: string;

  @Column('text', { comment: 'of the log' })
  url!: string;

  @Column('bigint', { name: 'head_size' })
  headSize!: string;

  @Column('bytea', { name: 'head_root' })
  headRoot!: Buffer;

  @Column('timestamptz', { name: 'head_at' })
  headAt!: Date;

  @Column('bytea', { name: 'head_signed', comment: 'STH as JSON, or checkpoint note, as fetched' })
  headSigned!: Buffer;

  @Column('bytea', {
    name: 'kept_signed',
    nullable: true,
    comment: 'the head that was kept then, as fetched',
  })
  keptSigned!: Buffer | null;

  @Column('bigint', { name: 'computed_size', nullable: true })
  computedSize!: string | null;

  @Column('bytea', {
    name: 'computed_root',
    nullable: true,
    comment: 'of the entries that the log served; null: heads alone contradict each other',
  })
  computedRoot!: Buffer | null;

  @Column('bytea', {
    array: true,
    nullable: true,
    comment: 'consistency proof as the log answered it (RFC 6962, 2.1.2); null: there was none',
  })
  proof!: Buffer[] | null;

  @Column('timestamptz', { name: 'found_at', default: () => 'now()' })
  foundAt!: Date;

  @Column('timestamptz', {
    name: 'tried_at',
    default: () => 'now()',
    comment: 'when the log was last asked to prove the head',
  })
  triedAt!: Date;
}
