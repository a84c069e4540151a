import type { ApprovalMethod, KeyType } from '@certwright/issuance';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { PlanEntity } from '../plans/plan.entity';

/** An additional name of a certificate object, and how it is approved. */
export interface StoredSan {
  readonly value: string;
  readonly approvalMethod: ApprovalMethod;
  /** Null unless the method is `email`. */
  readonly approverEmail: string | null;
}

/** The v2-specific columns of a certificate object. Shared ones are on the plan. */
@Entity('cert_object_v2')
@Index('cert_object_v2_cn', ['accountId', 'cn'], { unique: true })
@Check('cert_object_v2_type', `type IN ('dv', 'ev')`)
@Check('cert_object_v2_key_type', `key_type IN ('rsa', 'ecdsa')`)
@Check('cert_object_v2_approval', `approval_method IN ('email', 'http', 'dns')`)
@Check('cert_object_v2_approver', `(approval_method = 'email') = (approver_email IS NOT NULL)`)
export class CertObjectV2Entity {
  @ForeignKey(() => PlanEntity)
  @PrimaryColumn('bigint', { name: 'plan_id' })
  planId!: string;

  @ForeignKey(() => AccountEntity)
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Column({ type: 'text', collation: 'C', comment: 'lower case, A-labels; may begin with *.' })
  cn!: string;

  @Column('text')
  type!: 'dv' | 'ev';

  @Column('text', { name: 'approval_method' })
  approvalMethod!: ApprovalMethod;

  @Column('text', { name: 'approver_email', nullable: true })
  approverEmail!: string | null;

  @Column('jsonb', { nullable: true, comment: 'without the common name; null: default SANs' })
  sans!: StoredSan[] | null;

  @Column('text', { array: true, default: '{}' })
  tags!: string[];

  @Column('bytea', { comment: 'PKCS#10, DER' })
  csr!: Buffer;

  @Column('bytea', { name: 'spki_sha256', comment: 'SHA-256 over the DER SubjectPublicKeyInfo of csr' })
  spkiSha256!: Buffer;

  @Column('text', { name: 'key_type' })
  keyType!: KeyType;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
