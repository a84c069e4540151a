import type { Product } from '@certwright/issuance';
import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('product')
@Check('product_max_dns_names', `max_dns_names BETWEEN 1 AND 100`)
@Check('product_lifetime_days', `lifetime_days BETWEEN 1 AND 397`)
export class ProductEntity implements Product {
  @PrimaryColumn('text')
  name!: string;

  @Column('boolean', { default: true })
  available!: boolean;

  @Column('boolean', { name: 'csr_names_every_dns_name' })
  csrNamesEveryDnsName!: boolean;

  @Column('integer', { name: 'max_dns_names' })
  maxDnsNames!: number;

  @Column('boolean', { name: 'email_approval' })
  emailApproval!: boolean;

  @Column('integer', { name: 'lifetime_days', comment: 'days of 86400 seconds' })
  lifetimeDays!: number;

  @Column('boolean', { name: 'subject_common_name' })
  subjectCommonName!: boolean;

  @Column('text', { name: 'certificate_authority' })
  certificateAuthority!: string;
}
