import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

export interface CaCertificates {
  /** DER. */
  readonly root: Buffer;
  /** DER; signed by the root, signs the leaves. */
  readonly intermediate: Buffer;
}

/** The number of the advisory lock under which the built-in CA is created: any constant that nobody else uses. */
const creationLock = 4_310_001;

/** Two RSA keys are made meanwhile: seconds, on a slow or busy machine dozens of them. Nothing but the creation waits for it. */
const creationTimeoutMs = 5 * 60_000;

/** The certificates of the built-in CA. */
@Injectable()
export class CaIssuers {
  constructor(private readonly database: DataSource) {}

  /**
   * The CA's certificates; on the first start `create` makes them. Of many processes that start at once one creates.
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
