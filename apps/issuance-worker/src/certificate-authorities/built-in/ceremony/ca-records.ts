import type { DataSource } from 'typeorm';
import { isRoot, readIssuers, type StoredIssuer } from '../ca-issuers';
import type { IntermediateName } from '../keys/ca-key';

/** Number of the advisory lock for changing the CA's certificates: an arbitrary unique constant. */
const ceremonyLock = 4_310_001;

/** How long a certificate is on a revocation list after its end. */
const listedAfterEnd = '7 days';

/** The rows of the CA's certificates, as the key ceremony changes them. Workers only read them. */
export class CaRecords {
  /** @param database also a transaction */
  constructor(private readonly database: Pick<DataSource, 'query'>) {}

  async all(): Promise<readonly StoredIssuer[]> {
    return await readIssuers(this.database);
  }

  /** `intermediate`, then `intermediate-2`: the first name without a certificate. */
  async nextIntermediate(): Promise<IntermediateName> {
    const count = (await this.all()).filter((issuer) => !isRoot(issuer)).length;
    return count === 0 ? 'intermediate' : `intermediate-${count + 1}`;
  }

  /** `root`, then `root-2`. */
  async nextRoot(): Promise<string> {
    const count = (await this.all()).filter(isRoot).length;
    return count === 0 ? 'root' : `root-${count + 1}`;
  }

  /** @throws Error when there is none of that name */
  async find(name: string): Promise<StoredIssuer> {
    const all = await this.all();
    const found = all.find((issuer) => issuer.name === name);
    if (found !== undefined) return found;
    throw new Error(
      `There is no certificate "${name}". Existing ones: ${all.map((each) => each.name).join(', ') || 'none'}.`,
    );
  }

  /** Adds a root, or an intermediate that does not issue yet. */
  async add(name: string, certificate: Buffer): Promise<void> {
    await this.database.query(
      `INSERT INTO ca_issuer (name, certificate, activated_at) VALUES ($1, $2, NULL)`,
      [name, certificate],
    );
  }

  /** Another certificate for the same key. */
  async replace(name: string, certificate: Buffer): Promise<void> {
    await this.database.query(`UPDATE ca_issuer SET certificate = $2 WHERE name = $1`, [name, certificate]);
  }

  /** From now on workers issue from that intermediate. */
  async activate(name: string): Promise<void> {
    await this.database.query(
      `UPDATE ca_issuer SET activated_at = clock_timestamp(), retired_at = NULL WHERE name = $1`,
      [name],
    );
  }

  /** @returns when the last certificate of that intermediate leaves its revocation list; null: retired */
  async retire(name: string): Promise<Date | null> {
    const [{ until }] = await this.database.query<[{ until: Date | null }]>(
      `SELECT max(not_after) + interval '${listedAfterEnd}' AS until FROM ca_signing
       WHERE issuer = $1 AND not_after > now() - interval '${listedAfterEnd}'`,
      [name],
    );
    if (until !== null) return until;
    await this.database.query(`UPDATE ca_issuer SET retired_at = clock_timestamp() WHERE name = $1`, [name]);
    return null;
  }

  async revocationList(name: string): Promise<Buffer | null> {
    const [row] = await this.database.query<[{ crl: Buffer | null }?]>(
      `SELECT crl FROM ca_issuer WHERE name = $1`,
      [name],
    );
    return row?.crl ?? null;
  }

  /** @returns false when the stored list has a higher number */
  async storeRevocationList(
    name: string,
    list: {
      readonly der: Buffer;
      readonly number: bigint;
      readonly thisUpdate: Date;
      readonly nextUpdate: Date;
    },
  ): Promise<boolean> {
    const rows = await this.database.query<[unknown[], number]>(
      `UPDATE ca_issuer SET crl = $2, crl_number = $3, crl_made_at = $4, crl_next_update = $5
       WHERE name = $1 AND crl_number < $3`,
      [name, list.der, String(list.number), list.thisUpdate, list.nextUpdate],
    );
    return rows[1] > 0;
  }
}

/** One ceremony at a time, in one transaction. */
export async function inCeremony<T>(
  database: DataSource,
  work: (records: CaRecords) => Promise<T>,
): Promise<T> {
  return await database.transaction(async (tx) => {
    // Creating keys may take long.
    await tx.query(`SET LOCAL idle_in_transaction_session_timeout = 0`);
    await tx.query(`SELECT pg_advisory_xact_lock($1)`, [ceremonyLock]);
    return await work(new CaRecords(tx));
  });
}
