import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** How far the index and the changes of monitored domains were read. One row, inserted when following starts. */
@Entity('monitoring_follower')
@Check('monitoring_follower_only_row', 'only_row')
export class MonitoringFollowerEntity {
  @PrimaryColumn('boolean', { name: 'only_row', default: true })
  onlyRow!: boolean;

  @Column('bigint', { comment: 'last position of the index that was matched' })
  position!: string;

  @Column('bytea', {
    name: 'tbs_sha256',
    nullable: true,
    comment: 'of the issuance at that position: another one there means that the index was restored',
  })
  tbsSha256!: Buffer | null;

  @Column('timestamptz', {
    name: 'followed_to',
    comment: 'everything that the index had at this time was matched',
  })
  followedTo!: Date;

  @Column('timestamptz', { name: 'moved_at', comment: 'when this row was written' })
  movedAt!: Date;

  @Column('bigint', {
    name: 'change_transaction_id',
    comment: 'changes up to here were applied (docs/decisions/0016-monitored-domains.md)',
  })
  changeTransactionId!: string;

  @Column('bigint', { name: 'change_id' })
  changeId!: string;
}

/** Earlier positions of the follower, one a minute, for a week: where it continues when the index was restored. */
@Entity('monitoring_checkpoint')
export class MonitoringCheckpointEntity {
  @PrimaryColumn('bigint')
  position!: string;

  @Column('bytea', { name: 'tbs_sha256' })
  tbsSha256!: Buffer;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}

/** How far the unreadable entries of a log were matched. */
@Entity('monitoring_unreadable_cursor')
export class MonitoringUnreadableCursorEntity {
  @PrimaryColumn('bytea', { name: 'log_id', comment: 'RFC 6962, 3.2' })
  logId!: Buffer;

  @Column('bigint', { name: 'entry_index', comment: 'the last one that was matched' })
  entryIndex!: string;
}
