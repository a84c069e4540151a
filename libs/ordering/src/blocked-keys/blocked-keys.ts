import { addJobsToOutbox, keysOf, SharedReads, Transactions, type Tx } from '@certwright/core-schema';
import { advanceIssuance } from '@certwright/jobs';
import { leases } from '@certwright/postgres';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** Lists of known weak keys have hundreds of thousands of entries. */
const rowsPerStatement = 10_000;

/** How the reason begins when a key is blocked because it was reported as compromised. */
const reported = 'keyCompromise said of ';
/** Followed by the id of the certificate that was revoked for it. */
export const revokedKeyReason = `${reported}certificate `;
/** An operator has reported it, whether or not a certificate has it. */
export const reportedKeyReason = `${reported}the key`;

interface KeyOfAccount {
  readonly spkiSha256: Uint8Array;
  readonly accountId: string;
}

@Injectable()
export class BlockedKeys {
  private readonly reads = new SharedReads<KeyOfAccount, boolean>((keys) => this.haveAll(keys));

  constructor(private readonly database: DataSource) {}

  /**
   * Whether the key is blocked for this account: for all accounts, or by the account itself.
   *
   * @param spkiSha256 SHA-256 over the DER SubjectPublicKeyInfo
   */
  async has(spkiSha256: Uint8Array, accountId: string): Promise<boolean> {
    return await this.reads.read({ spkiSha256, accountId });
  }

  private async haveAll(keys: readonly KeyOfAccount[]): Promise<boolean[]> {
    const rows: { readonly blocked: boolean }[] = await this.database.query(
      `SELECT EXISTS (
         SELECT 1 FROM blocked_key
         WHERE blocked_key.spki_sha256 = wanted.spki_sha256 AND blocked_key.account_id IN (0, wanted.account_id)) AS blocked
       FROM ${keysOf('bytea', 'bigint')} AS wanted (spki_sha256, account_id, nth) ORDER BY nth`,
      [keys.map(({ spkiSha256 }) => spkiSha256), keys.map(({ accountId }) => accountId)],
    );
    return rows.map(({ blocked }) => blocked);
  }

  /** Whether an operator has loaded a list. Keys that were reported as compromised do not count. */
  async isListLoaded(): Promise<boolean> {
    const rows: unknown[] = await this.database.query(
      `SELECT 1 FROM blocked_key WHERE account_id = 0 AND NOT starts_with(reason, $1) LIMIT 1`,
      [reported],
    );
    return rows.length > 0;
  }

  /**
   * Adds all keys for every account or, on an error, none. A key that is blocked already keeps its reason.
   *
   * @returns how many were new
   */
  async add(spkiSha256s: readonly Uint8Array[], reason: string): Promise<number> {
    return await new Transactions(this.database).run(async (tx) => {
      let added = 0;
      for (let start = 0; start < spkiSha256s.length; start += rowsPerStatement) {
        const rows = await tx.query<{ readonly spkiSha256: Buffer }[]>(
          `INSERT INTO blocked_key (spki_sha256, reason) SELECT DISTINCT hash, $2 FROM unnest($1::bytea[]) AS hash
           ON CONFLICT DO NOTHING RETURNING spki_sha256 AS "spkiSha256"`,
          [spkiSha256s.slice(start, start + rowsPerStatement), reason],
        );
        await interruptIssuances(
          tx,
          rows.map(({ spkiSha256 }) => spkiSha256),
          '0',
        );
        added += rows.length;
      }
      return added;
    });
  }
}

/**
 * How long after an issuance was closed its certificate is collected; the index issuance_strays is read for that long.
 * What was not received and is in the index of public certificates has been reported by then.
 */
const collectableDays = 7;

/**
 * Of open issuances with keys that were just blocked, the holders lose the lease, and the next step finds the key blocked.
 * Certificates of issuances that were closed before are collected and revoked, if the CA may have issued them.
 *
 * @param accountId '0': of all accounts
 */
export async function interruptIssuances(
  tx: Tx,
  spkiSha256s: readonly Uint8Array[],
  accountId: string,
): Promise<void> {
  const [rows] = await tx.query<[{ id: string; lease_token: string }[], number]>(
    `UPDATE issuance SET lease_token = lease_token + 1, ${leases.release}, due_at = clock_timestamp(),
       closed_at = CASE WHEN state <> 'open' THEN 'infinity'::timestamptz END
     WHERE (state = 'open' OR (state IN ('superseded', 'canceled') AND ca_reference IS NOT NULL)) AND id IN (
       SELECT id FROM issuance
       WHERE state = 'open' AND plan_id IN (SELECT plan_id FROM terms WHERE spki_sha256 = ANY ($1::bytea[]))
         AND ($2::bigint = 0 OR account_id = $2)
       UNION ALL
       SELECT issuance.id FROM issuance JOIN terms ON terms.id = terms_id
       WHERE NOT strays_checked AND ca_reference IS NOT NULL AND state <> 'open'
         AND closed_at > now() - interval '${collectableDays} days' AND state IN ('superseded', 'canceled')
         AND spki_sha256 = ANY ($1::bytea[]) AND ($2::bigint = 0 OR issuance.account_id = $2))
     RETURNING id, lease_token`,
    [spkiSha256s, accountId],
  );
  await addJobsToOutbox(
    tx,
    rows.map(({ id, lease_token }) => advanceIssuance(id, lease_token)),
  );
}
