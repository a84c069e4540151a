import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { AccountEntity } from './account.entity';

/** A group of a customer's servers whose agents make keys and install certificates. */
@Entity('cluster')
@Check('cluster_key_length', `octet_length(cluster_key) = 32`)
export class ClusterEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @PrimaryColumn('text', { collation: 'C' })
  name!: string;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  // The columns below are not selected: processes of the previous release work without them.

  @Column({
    type: 'bytea',
    name: 'cluster_key',
    nullable: true,
    select: false,
    insert: false,
    comment: 'Ed25519 public key that signs the statements of members; null: one agent at most',
  })
  clusterKey!: Buffer | null;

  @Column({
    type: 'boolean',
    name: 'rotate_keys',
    default: true,
    select: false,
    insert: false,
    comment: 'a renewal requests a new key first',
  })
  rotateKeys!: boolean;

  @Column({
    type: 'bigint',
    default: 0,
    select: false,
    insert: false,
    comment: 'grows with every change that its agents see',
  })
  version!: string;

  @Column({
    type: 'bigint',
    name: 'members_version',
    default: 0,
    select: false,
    insert: false,
    comment: 'version of the last change of its members',
  })
  membersVersion!: string;

  @Column({
    type: 'bigint',
    name: 'reset_before',
    default: 0,
    select: false,
    insert: false,
    comment:
      'an agent that knows only an older version begins again: what left the cluster before is forgotten',
  })
  resetBefore!: string;

  @Column({
    type: 'boolean',
    name: 'seals_missing',
    default: false,
    select: false,
    insert: false,
    comment: 'a member may lack keys that another member holds',
  })
  sealsMissing!: boolean;
}
