import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

export interface CaCertificates {
  /** DER. */
  readonly root: Buffer;
  /** DER; signed by the root, signs the leaves. */
  readonly intermediate: Buffer;
}

/** Number of the advisory lock for creating the built-in CA: an arbitrary unique constant. */
const creationLock = 4_310_001;

/** Covers the creation of two RSA keys: seconds, on a slow or busy machine dozens. Only the creation waits. */
const creationTimeoutMs = 5 * 60_000;

/** The certificates of the built-in CA. */
@Injectable()
export class CaIssuers {
  constructor(private readonly database: DataSource) {}

  /**
   * Returns the CA's certificates; on the first start `create` makes them, in only one of concurrent processes.
   *
   * @param create stores the private keys, then returns the certificates
   */
  async ensure(create: () => Promise<CaCertificates>): Promise<CaCertificates> {
    return await this.database.transaction(async (tx) => {
      await tx.query(`SET LOCAL idle_in_transaction_session_timeout = ${creationTimeoutMs}`);
      await tx.query(`SELECT pg_advisory_xact_lock($1)`, [creationLock]);
      const rows: { name: string; certificate: Buffer }[] = await tx.query(
        `SELECT name, certificate FROM ca_issuer`,
      );
      const byName = new Map(rows.map(({ name, certificate }) => [name, certificate]));
      const root = byName.get('root');
      const intermediate = byName.get('intermediate');
      if (root !== undefined && intermediate !== undefined) return { root, intermediate };
      const created = await create();
      await tx.query(`INSERT INTO ca_issuer (name, certificate) VALUES ('root', $1), ('intermediate', $2)`, [
        created.root,
        created.intermediate,
      ]);
      return created;
    });
  }
}
