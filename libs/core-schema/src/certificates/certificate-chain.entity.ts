import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Stored once for all its leaves. */
@Entity('certificate_chain')
export class CertificateChainEntity {
  @PrimaryColumn('bytea', { comment: 'SHA-256 over the concatenated DER certificates, root last' })
  sha256!: Buffer;

  /** DER; the first certifies the leaf, each next one the one before it. Without the root. */
  @Column('bytea', { array: true })
  chain!: Buffer[];

  @Column('bytea', { comment: 'DER' })
  root!: Buffer;
}
