import type { KeyType } from '@certwright/issuance';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { ClusterEntity } from '../accounts/cluster.entity';
import { PlanEntity } from '../plans/plan.entity';
import { ProductEntity } from '../products/product.entity';

/** The v3-specific columns of an order. Shared ones (renewal, pause, revision) are on the plan. */
@Entity('order_v3')
@Index('order_v3_name', ['accountId', 'name'], { unique: true })
@ForeignKey(() => ClusterEntity, ['accountId', 'cluster'], ['accountId', 'name'], {
  name: 'order_v3_cluster',
})
@Index('order_v3_of_cluster', ['accountId', 'cluster', 'agentVersion'], { where: 'cluster IS NOT NULL' })
@Index('order_v3_to_request', ['accountId', 'cluster'], { where: 'cluster IS NOT NULL AND csr IS NULL' })
@Check('order_v3_name_length', `char_length(name) BETWEEN 1 AND 255`)
@Check('order_v3_dns_names_not_empty', `cardinality(dns_names) BETWEEN 1 AND 100`)
@Check('order_v3_key_type', `key_type IN ('rsa', 'ecdsa')`)
@Check('order_v3_csr_with_hash', `(csr IS NULL) = (spki_sha256 IS NULL)`)
export class OrderV3Entity {
  @ForeignKey(() => PlanEntity)
  @PrimaryColumn('bigint', { name: 'plan_id' })
  planId!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Column({ type: 'text', collation: 'C' })
  name!: string;

  @Column('text', { name: 'dns_names', array: true })
  dnsNames!: string[];

  @Column('jsonb', { name: 'approver_emails' })
  approverEmails!: Record<string, string>;

  @Column('text', { nullable: true })
  cluster!: string | null;

  @ForeignKey(() => ProductEntity)
  @Column('text')
  product!: string;

  @Column('text', { name: 'key_type' })
  keyType!: KeyType;

  @Column('bytea', { nullable: true, comment: 'PKCS#10, DER' })
  csr!: Buffer | null;

  @Column('bytea', {
    name: 'spki_sha256',
    nullable: true,
    comment: 'SHA-256 over the DER SubjectPublicKeyInfo of csr',
  })
  spkiSha256!: Buffer | null;

  /** Set by triggers. Not selected: processes of the previous release work without the column. */
  @Column({
    type: 'bigint',
    name: 'agent_version',
    nullable: true,
    select: false,
    insert: false,
    comment: 'version of the cluster with the last change that agents see; null: not managed',
  })
  agentVersion!: string | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
