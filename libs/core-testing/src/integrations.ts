import { randomInt } from 'node:crypto';
import type { Zone } from '@certwright/gateway-contract';
import type { DnsIntegrations } from '@certwright/dns-integrations';
import type { CoreDatabaseFixture } from './core-database';

export interface WrittenRecord {
  readonly dnsName: string;
  readonly state?: 'wanted' | 'standing' | 'unwanted' | 'removed';
  /** From now, seconds; null: nothing is to be done. */
  readonly dueInS: number | null;
}

export interface IntegrationFixture {
  /** @returns its id; its handle is `handle of <id>` */
  create(accountId: string, zones?: readonly Zone[] | null): Promise<string>;
  delete(accountId: string, id: string): Promise<boolean>;
  zonesDue(id: string, sinceS?: number): Promise<void>;
  record(integrationId: string, record: WrittenRecord): Promise<void>;
  /** Deletes all integrations, their records and all wake-ups. */
  clear(): Promise<void>;
}

const anHourMs = 3_600_000;

export function integrationFixture(
  { database, transactions }: CoreDatabaseFixture,
  integrations: DnsIntegrations,
): IntegrationFixture {
  return {
    async create(accountId, zones = [{ id: 'z1', name: 'example.com' }]) {
      const id = String(randomInt(1, 2 ** 48 - 1));
      const integration = { id, accountId, provider: 'desec', description: '', zones } as const;
      const sealed = { handle: `handle of ${id}`, zonesDueAt: new Date(Date.now() + anHourMs) };
      await transactions.run(async (tx) => await integrations.create(tx, { ...integration, ...sealed }));
      return id;
    },
    delete: async (accountId, id) =>
      await transactions.run(async (tx) => await integrations.markDeleted(tx, accountId, id)),
    async zonesDue(id, sinceS = 1) {
      await database.query(
        `UPDATE dns_integration SET zones_due_at = now() - make_interval(secs => $2) WHERE id = $1`,
        [id, sinceS],
      );
    },
    async record(integrationId, { dnsName, state = 'wanted', dueInS }) {
      await database.query(
        `INSERT INTO approval_record (account_id, integration_id, dns_name, zone_name, target, state, due_at, removed_at)
         SELECT account_id, id, $2, 'example', 'target.example', $3, now() + make_interval(secs => $4),
           CASE WHEN $3 = 'removed' THEN now() END
         FROM dns_integration WHERE id = $1`,
        [integrationId, dnsName, state, dueInS],
      );
    },
    async clear() {
      await database.query(`DELETE FROM approval_record`);
      await database.query(`DELETE FROM dns_integration`);
      await database.query(`DELETE FROM outbox`);
    },
  };
}
