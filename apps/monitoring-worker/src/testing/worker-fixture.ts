import { createHash } from 'node:crypto';
import { indexKeys, oddKeys } from '@certwright/ct';
import { crlsOf, CrlIds, IssuerIds, type NewIssuance, storeIssuances } from '@certwright/ct-index';
import { ctDataSource } from '@certwright/ct-schema';
import { anIssuance, ctTestDatabase } from '@certwright/ct-testing';
import { claimDeployment, coreDataSource } from '@certwright/core-schema';
import { testDatabase, testRedis } from '@certwright/testing';
import type { DataSource } from 'typeorm';

const settings = { applicationName: 'spec', poolSize: 6, statementTimeoutMs: 30_000 };

export interface FoundRow {
  readonly account: string;
  readonly tbs: string;
  readonly names: readonly string[];
  readonly source: string;
}

/** Both databases and Redis, with what accounts and ct-ingest write. */
export class WorkerFixture {
  private readonly ids = new IssuerIds();

  private constructor(
    readonly core: DataSource,
    readonly ct: DataSource,
    /** With the grants of the process. */
    readonly env: Readonly<Record<string, string>>,
    readonly flushRedis: () => Promise<void>,
    readonly close: () => Promise<void>,
  ) {}

  static async open(): Promise<WorkerFixture> {
    const [coreTest, ctTest, redis] = [await testDatabase(), await ctTestDatabase(), await testRedis()];
    const core = await coreDataSource({ url: coreTest.url, ...settings }).initialize();
    await claimDeployment(core, 'sandbox');
    const ct = await ctDataSource({ url: ctTest.url, ...settings }).initialize();
    const env = {
      DATABASE_URL: coreTest.urlOf('monitoring-worker'),
      CT_DATABASE_URL: ctTest.urlOf('monitoring-worker'),
      ...redis.environment,
      OPS_PORT: '0',
    };
    const close = async () => {
      await Promise.all([core.destroy(), ct.destroy()]);
      await Promise.all([coreTest.dispose(), ctTest.dispose(), redis.dispose()]);
    };
    return new WorkerFixture(core, ct, env, redis.flush, close);
  }

  async account(id: string): Promise<void> {
    await this.core.query(
      `INSERT INTO account (id, name, contact_email) VALUES ($1, 'Spec', 'ops@example.com') ON CONFLICT DO NOTHING`,
      [id],
    );
  }

  /** As apps/monitoring does. @param enabled null: deletes it */
  async change(account: string, name: string, enabled: boolean | null): Promise<void> {
    await this.core.transaction(async (tx) => {
      await tx.query(`SELECT 1 FROM account WHERE id = $1 FOR NO KEY UPDATE`, [account]);
      const [before] = await tx.query<{ name: string; enabled: boolean }[]>(
        `SELECT name, enabled FROM monitored_domain WHERE account_id = $1 AND name = $2`,
        [account, name],
      );
      if ((before === undefined && enabled === null) || before?.enabled === enabled) return;
      if (enabled === null)
        await tx.query(`DELETE FROM monitored_domain WHERE account_id = $1 AND name = $2`, [account, name]);
      else
        await tx.query(
          `INSERT INTO monitored_domain (account_id, name, enabled) VALUES ($1, $2, $3)
           ON CONFLICT (account_id, name) DO UPDATE SET enabled = excluded.enabled`,
          [account, name, enabled],
        );
      const action =
        enabled === null ? 'deleted' : before === undefined ? 'created' : enabled ? 'enabled' : 'disabled';
      await tx.query(
        `INSERT INTO monitoring_change (transaction_id, account_id, object, name, action, before, after)
         VALUES (pg_current_xact_id()::text::bigint, $1, 'monitored_domain', $2, $3, $4, $5)`,
        [account, name, action, before ?? null, enabled === null ? null : { name, enabled }],
      );
    });
  }

  /** As ct-ingest does. */
  async log(issuances: readonly NewIssuance[]): Promise<void> {
    await this.ids.ensure(
      this.ct.manager,
      issuances.map(({ issuer }) => issuer),
    );
    const crls = await crlsOf(this.ct.manager, new CrlIds(), this.ids, issuances);
    await this.ct.transaction(async (tx) => await storeIssuances(tx, this.ids, issuances, crls));
  }

  async findings(): Promise<readonly FoundRow[]> {
    return await this.core.query(
      `SELECT account_id AS account, encode(tbs_sha256, 'hex') AS tbs, dns_names AS names, source
       FROM monitoring_finding ORDER BY account_id, position, tbs_sha256`,
    );
  }

  async backfills(): Promise<readonly { name: string; state: string; found: number; position: string }[]> {
    return await this.core.query(
      `SELECT name, state, found, position, until_position FROM monitoring_backfill ORDER BY change_id`,
    );
  }

  async followedTo(): Promise<string | null> {
    const [row] = await this.core.query<{ position: string }[]>(`SELECT position FROM monitoring_follower`);
    return row?.position ?? null;
  }

  async end(): Promise<string> {
    const [{ position }] = await this.ct.query<[{ position: string }]>(
      `SELECT (next - 1)::text AS position FROM ct_sequence`,
    );
    return position;
  }

  /** As a backup from before the positions after this one. */
  async restoreIndex(position: string): Promise<void> {
    await this.ct.transaction(async (tx) => {
      await tx.query(`DELETE FROM ct_known WHERE position > $1`, [position]);
      await tx.query(`DELETE FROM ct_issuance WHERE position > $1`, [position]);
      await tx.query(
        `DELETE FROM ct_block WHERE run IN (SELECT id FROM ct_run WHERE to_position > $1::bigint + 1)`,
        [position],
      );
      await tx.query(`DELETE FROM ct_run WHERE to_position > $1::bigint + 1`, [position]);
      await tx.query(`UPDATE ct_sequence SET next = $1::bigint + 1`, [position]);
    });
  }
}

/** An issuance that is found as one with these names is. */
export function certificateFor(...dnsNames: readonly string[]): NewIssuance {
  const change = { dnsNames, nameKeys: [...indexKeys(dnsNames), ...oddKeys(dnsNames, [])] };
  return anIssuance(dnsNames[0] ?? '', change);
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
