import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';
import { IssuanceEntity } from '../issuances/issuance.entity';

/** `second-certificate`: the issuance has another one. `not-received`: it ended without a certificate. */
export type StrayProblem = 'second-certificate' | 'not-received';

/** A certificate that was logged with the key and names of an issuance, and that the account does not have. Reported once. */
@Entity('stray_certificate')
@Check('stray_certificate_problem', `problem IN ('second-certificate', 'not-received')`)
export class StrayCertificateEntity {
  @ForeignKey(() => AccountEntity)
  @PrimaryColumn('bigint', { name: 'account_id' })
  accountId!: string;

  @PrimaryColumn('bytea', {
    name: 'tbs_sha256',
    comment: 'SHA-256 over the DER TBSCertificate without poison and SCT list',
  })
  tbsSha256!: Buffer;

  @ForeignKey(() => IssuanceEntity)
  @Column('bigint', { name: 'issuance_id' })
  issuanceId!: string;

  @Column('text')
  problem!: StrayProblem;

  @Column('timestamptz', { name: 'found_at', default: () => 'now()' })
  foundAt!: Date;
}
