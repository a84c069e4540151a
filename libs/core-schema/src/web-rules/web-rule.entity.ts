import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/**
 * The secret in the path that an account's web servers redirect or proxy to: a tenant's rule never approves other
 * tenants' orders.
 */
@Entity('web_rule')
@Check('web_rule_secret_length', `char_length(secret) >= 26`)
export class WebRuleEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @Index('web_rule_secret', { unique: true })
  @Column({ type: 'text', collation: 'C', comment: '160 random bits, base32, lower case' })
  secret!: string;
}
