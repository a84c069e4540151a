import type { Product, ProductAuthority } from '@certwright/issuance';
import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('product')
@Check('product_max_dns_names', `max_dns_names BETWEEN 1 AND 100`)
@Check('product_price', `price_cents >= 0 AND currency ~ '^[A-Z]{3}$'`)
@Check('product_wildcard_price', `wildcard_price_cents >= 0`)
@Check('product_term_days', `term_days BETWEEN 1 AND 3653`)
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

  @Column('jsonb', {
    default: () => `'[]'`,
    comment: 'in order of preference; empty: certificate_authority alone',
  })
  authorities!: ProductAuthority[];

  @Column('boolean', { name: 'http_approval', default: true })
  httpApproval!: boolean;

  @Column('integer', { name: 'rsa_sizes', array: true, default: () => `'{2048,3072,4096}'`, comment: 'bits' })
  rsaSizes!: number[];

  @Column('text', { array: true, default: () => `'{P-256,P-384}'` })
  curves!: string[];

  @Column('integer', {
    name: 'term_days',
    nullable: true,
    comment: 'what one purchase covers, days of 86400 seconds; null: nothing is sold by time',
  })
  termDays!: number | null;

  @Column('integer', {
    name: 'price_cents',
    default: 0,
    comment: 'per term and name; hundredths of the currency',
  })
  priceCents!: number;

  @Column('integer', { name: 'wildcard_price_cents', default: 0, comment: 'per term and wildcard name' })
  wildcardPriceCents!: number;

  @Column('text', { default: 'USD', comment: 'ISO 4217' })
  currency!: string;
}
