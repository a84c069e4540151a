import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type IntegrationLease, underIntegrationLease } from '@certwright/dns-integrations';
import type { ChallengeRecord } from '@certwright/approvals';

/** These two identify the record of a row. */
export type RecordKey = Pick<ChallengeRecord, 'label' | 'value'>;

/** A TXT value at a target that is, or may be, in the zone of an integration. */
export interface HostedRecord extends RecordKey {
  /** Not null: it may exist at the provider. */
  readonly attemptedAt: Date | null;
  readonly recordHandle: string | null;
}

/**
 * TXT values at targets in a zone of an integration: intent first, then the result. The holder of the integration's
 * lease changes them, and its writes count under that lease only.
 */
@Injectable()
export class HostedChallengeRecords {
  constructor(private readonly database: DataSource) {}

  /** Whether records can be added through it. */
  async mayAdd(integrationId: string): Promise<boolean> {
    const rows: unknown[] = await this.database.query(
      `SELECT FROM dns_integration WHERE id = $1 AND handle IS NOT NULL AND deleted_at IS NULL`,
      [integrationId],
    );
    return rows.length > 0;
  }

  /** How many of them are not, or not known to be, in the zone of the integration. */
  async countMissing(integrationId: string, keys: readonly RecordKey[]): Promise<number> {
    const [{ count }] = await this.database.query<[{ count: number }]>(
      `SELECT count(*)::int AS count FROM unnest($2::text[], $3::text[]) AS wanted (label, value)
       WHERE NOT EXISTS (SELECT FROM challenge_record AS record
         WHERE record.label = wanted.label AND record.value = wanted.value AND record.integration_id = $1
           AND record.record_handle IS NOT NULL AND record.expires_at > clock_timestamp())`,
      [integrationId, keys.map(({ label }) => label), keys.map(({ value }) => value)],
    );
    return count;
  }

  /** Those of the given records to be added through the integration. */
  async toAdd(integrationId: string, keys: readonly RecordKey[]): Promise<readonly HostedRecord[]> {
    return await this.database.query<HostedRecord[]>(
      `SELECT ${columns} FROM challenge_record JOIN unnest($2::text[], $3::text[]) AS wanted (label, value)
         USING (label, value)
       WHERE integration_id = $1 AND record_handle IS NULL AND expires_at > clock_timestamp()
       ORDER BY label, value`,
      [integrationId, keys.map(({ label }) => label), keys.map(({ value }) => value)],
    );
  }

  /** Integrations with records to remove. */
  async toBeCleared(): Promise<readonly string[]> {
    const rows = await this.database.query<{ id: string }[]>(
      `SELECT DISTINCT integration_id AS id FROM challenge_record
       WHERE integration_id IS NOT NULL AND attempted_at IS NOT NULL AND expires_at <= clock_timestamp()`,
    );
    return rows.map(({ id }) => id);
  }

  /** Records no longer needed: withdrawn, or left by a crash. The least recently tried one first. */
  async toRemove(integrationId: string, limit: number): Promise<readonly HostedRecord[]> {
    return await this.database.query<HostedRecord[]>(
      `SELECT ${columns} FROM challenge_record
       WHERE integration_id = $1 AND attempted_at IS NOT NULL AND expires_at <= clock_timestamp()
       ORDER BY attempted_at LIMIT $2`,
      [integrationId, limit],
    );
  }

  /**
   * Stores that the provider is about to be called for a change.
   *
   * @returns false: it is no longer required in this way, or the lease is lost
   */
  async attempting(lease: IntegrationLease, key: RecordKey, wanted: 'added' | 'removed'): Promise<boolean> {
    const isWanted =
      wanted === 'added' ? 'expires_at > clock_timestamp()' : 'expires_at <= clock_timestamp()';
    return await this.change(lease, key, `attempted_at = clock_timestamp()`, isWanted);
  }

  /** Nothing was added. */
  async notAttempted(lease: IntegrationLease, key: RecordKey): Promise<boolean> {
    return await this.change(lease, key, `attempted_at = NULL`, `record_handle IS NULL`);
  }

  /**
   * Stores the handle that removes it; a record to be removed is skipped, unless required again: then it is added
   * again.
   */
  async handled(
    lease: IntegrationLease,
    key: RecordKey,
    handle: string,
    wanted: 'added' | 'removed',
  ): Promise<boolean> {
    const isWanted = wanted === 'added' ? 'attempted_at IS NOT NULL' : 'expires_at <= clock_timestamp()';
    return await this.change(lease, key, `record_handle = $5`, isWanted, [handle]);
  }

  /** The handle is invalid: adding the record again returns a new one. */
  async unhandled(lease: IntegrationLease, key: RecordKey): Promise<boolean> {
    return await this.change(lease, key, `record_handle = NULL`, `expires_at <= clock_timestamp()`);
  }

  /** Unless it is required again meanwhile: then it is kept, to be added. */
  async removed({ integrationId, token }: IntegrationLease, { label, value }: RecordKey): Promise<void> {
    await this.database.query(
      `DELETE FROM challenge_record USING dns_integration
       WHERE label = $3 AND value = $4 AND integration_id = $1 AND expires_at <= clock_timestamp()
         AND ${underIntegrationLease('$1', '$2')}`,
      [integrationId, token, label, value],
    );
  }

  /** Drops records and handles of deleted integrations, which are unreachable. @returns how many */
  async forgetUnreachable(): Promise<number> {
    const [, forgotten] = await this.database.query<[unknown, number]>(
      `DELETE FROM challenge_record USING dns_integration
       WHERE dns_integration.id = integration_id AND handle IS NULL AND expires_at <= clock_timestamp()`,
    );
    return forgotten;
  }

  private async change(
    { integrationId, token }: IntegrationLease,
    { label, value }: RecordKey,
    assignment: string,
    condition: string,
    parameters: readonly string[] = [],
  ): Promise<boolean> {
    const [, changed] = await this.database.query<[unknown, number]>(
      `UPDATE challenge_record SET ${assignment} FROM dns_integration
       WHERE label = $3 AND value = $4 AND integration_id = $1 AND ${condition}
         AND ${underIntegrationLease('$1', '$2')}`,
      [integrationId, token, label, value, ...parameters],
    );
    return changed > 0;
  }
}

const columns = `label, value, attempted_at AS "attemptedAt", record_handle AS "recordHandle"`;
