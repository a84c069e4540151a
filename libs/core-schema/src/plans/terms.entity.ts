import type { ApprovalWay, KeyType, Terms } from '@certwright/issuance';
import { Check, Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { ProductEntity } from '../products/product.entity';
import { PlanEntity } from './plan.entity';

/** Immutable: a trigger of the first migration refuses every update. */
@Entity('terms')
@Check('terms_dns_names_not_empty', `cardinality(dns_names) > 0`)
@Check('terms_key_type', `key_type IN ('rsa', 'ecdsa')`)
@Check('terms_spki_sha256_length', `octet_length(spki_sha256) = 32`)
@Index('terms_key', ['spkiSha256'])
export class TermsEntity implements Terms {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @Index('terms_plan')
  @ForeignKey(() => PlanEntity)
  @Column('bigint', { name: 'plan_id' })
  planId!: string;

  @ForeignKey(() => ProductEntity)
  @Column('text')
  product!: string;

  @Column('text', { name: 'dns_names', array: true })
  dnsNames!: string[];

  @Column('text', { name: 'key_type' })
  keyType!: KeyType;

  @Column('bytea', { comment: 'PKCS#10, DER' })
  csr!: Buffer;

  @Column('bytea', { name: 'spki_sha256', comment: 'SHA-256 over the DER SubjectPublicKeyInfo of csr' })
  spkiSha256!: Buffer;

  @Column('jsonb', { name: 'approver_emails' })
  approverEmails!: Record<string, string>;

  @Column('jsonb', { name: 'approval_ways', nullable: true, comment: 'DNS name → way; null: any way' })
  approvalWays!: Record<string, ApprovalWay> | null;

  /** Data of the API that owns the plan; no other component reads it. */
  @Column('jsonb', { name: 'owner_facts', nullable: true })
  ownerFacts!: object | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
