import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('account')
export class AccountEntity {
  /** Random, so that nobody can count accounts; the part of an API key before the underscore. */
  @PrimaryColumn('bigint', { comment: 'random 47-bit integer; stands in front of every API key' })
  id!: string;

  @Column('text')
  name!: string;

  @Column('text', { name: 'contact_email', nullable: true })
  contactEmail!: string | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'disabled_at', nullable: true })
  disabledAt!: Date | null;
}
