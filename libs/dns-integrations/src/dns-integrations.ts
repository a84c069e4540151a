import { leases } from '@certwright/postgres';
import type { ProviderName, Zone } from '@certwright/gateway-contract';
import type { Outcome } from '@certwright/issuance';
import { neutralMessage, storedOutcome } from '@certwright/outcome-messages';
import { keepIntegration } from '@certwright/jobs';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { addToOutbox } from '@certwright/core-schema';
import { Transactions, type Tx } from '@certwright/core-schema';
import type { IntegrationState } from './integration-lease';
import { replaceZones } from './leased-integrations';

/** The account's view, without the credentials. */
export interface DnsIntegration {
  readonly id: string;
  readonly accountId: string;
  readonly provider: ProviderName;
  /** For people. */
  readonly description: string;
  readonly state: IntegrationState;
  readonly problem: Outcome | null;
  readonly checkedAt: Date | null;
  readonly createdAt: Date;
}

export interface NewDnsIntegration {
  /** A fresh random 48-bit integer, in decimal: the gateway seals the handle for it. */
  readonly id: string;
  readonly accountId: string;
  readonly provider: ProviderName;
  readonly description: string;
  readonly handle: string;
  /** Null: not listed yet; they are listed as soon as possible. */
  readonly zones: readonly Zone[] | null;
  /** When they are listed again; without zones it does not count. */
  readonly zonesDueAt: Date;
}

/** Maximum integrations per account, which bounds the requests to providers. */
export const maxDnsIntegrations = 50;

/**
 * After this time, in days, a deleted integration's handle is dropped although records are left: the provider keeps
 * refusing.
 */
const patienceDays = 7;

/** The DNS providers of accounts. Every method covers only the account's own integrations that are not deleted. */
@Injectable()
export class DnsIntegrations {
  constructor(
    private readonly database: DataSource,
    private readonly transactions: Transactions,
  ) {}

  /** @returns null when the account has `maxDnsIntegrations` already */
  async create(tx: Tx, integration: NewDnsIntegration): Promise<DnsIntegration | null> {
    const { id, accountId, provider, description, handle, zones, zonesDueAt } = integration;
    // One creation at a time per account, or two would see the same count.
    await tx.query(`SELECT 1 FROM account WHERE id = $1 FOR NO KEY UPDATE`, [accountId]);
    const rows: IntegrationRow[] = await tx.query(
      `INSERT INTO dns_integration (id, account_id, provider, description, handle, state, checked_at, zones_due_at)
       SELECT $1, $2, $3, $4, $5, 'ok', clock_timestamp(), coalesce($6::timestamptz, clock_timestamp())
       WHERE (SELECT count(*) FROM dns_integration WHERE account_id = $2 AND deleted_at IS NULL) < $7
       RETURNING ${columns}`,
      [id, accountId, provider, description, handle, zones === null ? null : zonesDueAt, maxDnsIntegrations],
    );
    const [created] = rows;
    if (created === undefined) return null;
    if (zones === null) await addToOutbox(tx, keepIntegration(id, 0));
    else await replaceZones(tx, id, accountId, zones);
    return integrationOf(created);
  }

  /** Early check before a request to the gateway; only `create` is reliable. */
  async hasRoom(accountId: string): Promise<boolean> {
    const [row] = await this.database.query<[{ count: number }]>(
      `SELECT count(*)::int AS count FROM dns_integration WHERE account_id = $1 AND deleted_at IS NULL`,
      [accountId],
    );
    return row.count < maxDnsIntegrations;
  }

  /** Oldest first. */
  async ofAccount(accountId: string): Promise<DnsIntegration[]> {
    const rows: IntegrationRow[] = await this.database.query(
      `SELECT ${columns} FROM dns_integration WHERE account_id = $1 AND deleted_at IS NULL ORDER BY created_at, id`,
      [accountId],
    );
    return rows.map(integrationOf);
  }

  async get(accountId: string, id: string): Promise<DnsIntegration | null> {
    const [row]: IntegrationRow[] = await this.database.query(
      `SELECT ${columns} FROM dns_integration WHERE id = $1 AND account_id = $2 AND deleted_at IS NULL`,
      [id, accountId],
    );
    return row === undefined ? null : integrationOf(row);
  }

  /** Last known zones, by name. @returns integration → its zones; no entry for those without */
  async zonesOf(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, readonly Zone[]>> {
    const rows: { readonly integration_id: string; readonly id: string; readonly name: string }[] =
      await this.database.query(
        `SELECT integration_id, zone_id AS id, name FROM dns_integration_zone
         WHERE account_id = $1 AND integration_id = ANY ($2::bigint[]) ORDER BY integration_id, name`,
        [accountId, ids],
      );
    const zones = new Map<string, Zone[]>();
    for (const { integration_id, id, name } of rows) {
      const known = zones.get(integration_id);
      if (known === undefined) zones.set(integration_id, [{ id, name }]);
      else known.push({ id, name });
    }
    return zones;
  }

  /**
   * Deletes it for its account, regardless of leases. The next holder of the lease removes its records.
   *
   * @returns false when the account has no such integration
   */
  async markDeleted(tx: Tx, accountId: string, id: string): Promise<boolean> {
    const [[deleted]] = await tx.query<[{ lease_token: string }[], number]>(
      `UPDATE dns_integration SET deleted_at = clock_timestamp()
       WHERE id = $1 AND account_id = $2 AND deleted_at IS NULL RETURNING lease_token`,
      [id, accountId],
    );
    if (deleted === undefined) return false;
    await tx.query(`DELETE FROM dns_integration_zone WHERE integration_id = $1`, [id]);
    await tx.query(
      `UPDATE approval_record SET state = 'unwanted', failures = 0, due_at = clock_timestamp()
       WHERE integration_id = $1 AND state IN ('wanted', 'standing')`,
      [id],
    );
    await addToOutbox(tx, keepIntegration(id, deleted.lease_token));
    return true;
  }

  /**
   * Drops the handle of deleted integrations whose records are removed, and after seven days that of all. Records
   * left by then count as removed, or their names could never be approved through another integration.
   *
   * @returns how many were forgotten
   */
  async forgetDeleted(): Promise<number> {
    return await this.transactions.run(async (tx) => {
      const [forgotten] = await tx.query<[{ id: string }[], number]>(forgetStatement, [patienceDays]);
      await tx.query(
        `UPDATE approval_record SET state = 'removed', removed_at = clock_timestamp(), due_at = NULL,
           problem = coalesce(problem, $2), outcome = CASE WHEN problem IS NULL THEN $3::jsonb ELSE outcome END
         WHERE integration_id = ANY ($1::bigint[]) AND state <> 'removed'`,
        [forgotten.map(({ id }) => id), neutralMessage(deleted), JSON.stringify(deleted)],
      );
      return forgotten.length;
    });
  }
}

type IntegrationRow = Omit<DnsIntegration, 'problem'> & {
  readonly problem: string | null;
  readonly outcome: Outcome | null;
};

function integrationOf({ problem, outcome, ...integration }: IntegrationRow): DnsIntegration {
  return { ...integration, problem: storedOutcome(problem, outcome) };
}

/** Of a record that may still be at the provider. */
const deleted: Outcome = { code: 'integration_deleted' };

const columns = `id, account_id AS "accountId", provider, description, state, problem, outcome, checked_at AS "checkedAt",
  created_at AS "createdAt"`;

/** Only without a lease: a response may still be under way. Incrementing the token invalidates a late one. */
const forgetStatement = `
  UPDATE dns_integration SET handle = NULL, lease_token = lease_token + 1, ${leases.release}
  WHERE deleted_at IS NOT NULL AND handle IS NOT NULL
    AND ${leases.isFree()}
    AND (deleted_at < now() - make_interval(days => $1)
      OR NOT EXISTS (SELECT 1 FROM approval_record
        WHERE integration_id = dns_integration.id AND state <> 'removed')
      AND NOT EXISTS (SELECT 1 FROM challenge_record WHERE integration_id = dns_integration.id))
  RETURNING id`;
