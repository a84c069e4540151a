import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { CtLogEntity } from './ct-log.entity';

/** An entry that could not be read, as it is. */
@Entity('ct_odd_entry')
export class CtOddEntryEntity {
  @ForeignKey(() => CtLogEntity, { name: 'ct_odd_entry_log' })
  @PrimaryColumn('integer', { primaryKeyConstraintName: 'ct_odd_entry_pkey' })
  log!: number;

  @PrimaryColumn('bigint', { name: 'entry_index', primaryKeyConstraintName: 'ct_odd_entry_pkey' })
  entryIndex!: string;

  @Column('text')
  fault!: string;

  @Column('bytea', { comment: 'its first 64 KiB' })
  leaf!: Buffer;

  @Column('integer', { name: 'leaf_bytes', comment: 'octets of the whole' }) // language: comment of a stored column
  leafBytes!: number;
}
