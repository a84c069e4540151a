import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** Certificates and revocation lists of the built-in CA, which anybody may download. */
@Injectable()
export class PublicationsRepository {
  constructor(private readonly database: DataSource) {}

  /** @returns DER; null while there is no CA, or no list yet */
  async find(issuer: string, kind: 'certificate' | 'crl'): Promise<Buffer | null> {
    const column = kind === 'crl' ? 'crl' : 'certificate';
    const rows: { der: Buffer | null }[] = await this.database.query(
      `SELECT ${column} AS der FROM ca_issuer WHERE name = $1`,
      [issuer],
    );
    return rows[0]?.der ?? null;
  }
}
