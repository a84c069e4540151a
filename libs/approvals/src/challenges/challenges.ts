import type { Tx } from '@certwright/core-schema';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** A TXT value at the target of a standing record. */
export interface ChallengeRecord {
  readonly label: string;
  readonly value: string;
  readonly accountId: string;
  /** Without `*.`. */
  readonly dnsName: string;
}

/** Response to a token through the web server rule of an account. */
export interface ChallengeFile {
  readonly token: string;
  readonly content: string;
  readonly accountId: string;
  readonly dnsName: string;
}

/** A CA checks within minutes; an order lives at most a week, and its values are published again when it resumes. */
const lifeMs = 24 * 60 * 60 * 1_000;

/** Responses of approval-responder to CAs. Publishing is repeatable and extends the life of existing values. */
@Injectable()
export class Challenges {
  constructor(private readonly database: DataSource) {}

  /**
   * A value that was withdrawn meanwhile, and may be in removal, must be added again. A value that another
   * integration may still have is withdrawn there first: it counts as published only when it is published again.
   *
   * @param integrationId adds them; null: approval-responder serves them
   * @throws Error when a label does not belong to its account and name: then no value is published
   */
  async publishRecords(
    records: readonly ChallengeRecord[],
    integrationId: string | null = null,
  ): Promise<void> {
    if (records.length === 0) return;
    const [{ strangers }] = await this.database.query<[{ strangers: number }]>(
      `WITH wanted AS (
         SELECT DISTINCT wish.label, value, wish.account_id, wish.dns_name, delegation.label IS NOT NULL AS owned
         FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS wish (label, value, account_id, dns_name)
         LEFT JOIN delegation USING (account_id, dns_name, label)),
       published AS (
         INSERT INTO challenge_record (label, value, account_id, dns_name, expires_at, integration_id)
         SELECT label, value, account_id, dns_name, clock_timestamp() + $5 * interval '1 millisecond', $6::bigint
         FROM wanted WHERE (SELECT bool_and(owned) FROM wanted) ORDER BY label, value
         ON CONFLICT (label, value) DO UPDATE SET ${publishedAgain})
       SELECT count(*)::int AS strangers FROM wanted WHERE NOT owned`,
      [
        records.map(({ label }) => label),
        records.map(({ value }) => value),
        records.map(({ accountId }) => accountId),
        records.map(({ dnsName }) => dnsName),
        lifeMs,
        integrationId,
      ],
    );
    if (strangers > 0) throw new Error('a value can only be published at the label of its account and name');
  }

  /** A value that may have been added through an integration stays as an expired row until it is removed there. */
  async withdrawRecords(
    records: readonly Pick<ChallengeRecord, 'label' | 'value'>[],
    tx: Tx | null = null,
  ): Promise<void> {
    if (records.length === 0) return;
    // Locked in one order: several issuances may withdraw the same values.
    await (tx ?? this.database).query(
      `WITH withdrawn AS MATERIALIZED (
         SELECT record.label, record.value, record.attempted_at FROM challenge_record AS record
         JOIN unnest($1::text[], $2::text[]) AS gone (label, value) USING (label, value)
         ORDER BY record.label, record.value FOR UPDATE OF record),
       expired AS (
         UPDATE challenge_record AS record SET expires_at = least(record.expires_at, clock_timestamp())
         FROM withdrawn WHERE (record.label, record.value) = (withdrawn.label, withdrawn.value)
           AND withdrawn.attempted_at IS NOT NULL)
       DELETE FROM challenge_record AS record USING withdrawn
       WHERE (record.label, record.value) = (withdrawn.label, withdrawn.value) AND withdrawn.attempted_at IS NULL`,
      [records.map(({ label }) => label), records.map(({ value }) => value)],
    );
  }

  async publishFiles(files: readonly ChallengeFile[]): Promise<void> {
    if (files.length === 0) return;
    await this.database.query(
      `INSERT INTO challenge_file (token, content, account_id, dns_name, expires_at)
       SELECT DISTINCT ON (token, account_id)
         token, content, account_id, dns_name, clock_timestamp() + $5 * interval '1 millisecond'
       FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS wanted (token, content, account_id, dns_name)
       ORDER BY token, account_id
       ON CONFLICT (token, account_id) DO UPDATE SET content = excluded.content, expires_at = excluded.expires_at`,
      [
        files.map(({ token }) => token),
        files.map(({ content }) => content),
        files.map(({ accountId }) => accountId),
        files.map(({ dnsName }) => dnsName),
        lifeMs,
      ],
    );
  }

  async withdrawFiles(
    files: readonly Pick<ChallengeFile, 'token' | 'accountId'>[],
    tx: Tx | null = null,
  ): Promise<void> {
    if (files.length === 0) return;
    await (tx ?? this.database).query(
      `DELETE FROM challenge_file WHERE (token, account_id) IN (
         SELECT file.token, file.account_id FROM challenge_file AS file
         JOIN unnest($1::text[], $2::bigint[]) AS gone (token, account_id) USING (token, account_id)
         ORDER BY file.token, file.account_id FOR UPDATE OF file)`,
      [files.map(({ token }) => token), files.map(({ accountId }) => accountId)],
    );
  }

  /** Values at one target; null: unknown or retired, so the target does not exist. */
  async atTarget(label: string): Promise<readonly string[] | null> {
    const [row] = await this.database.query<[{ values: string[] }?]>(
      `SELECT coalesce(array_agg(value ORDER BY value) FILTER (WHERE value IS NOT NULL), '{}') AS values
       FROM delegation LEFT JOIN challenge_record
         ON challenge_record.label = delegation.label AND challenge_record.expires_at > clock_timestamp()
       WHERE delegation.label = $1 AND delegation.retired_at IS NULL GROUP BY delegation.label`,
      [label],
    );
    return row?.values ?? null;
  }

  /**
   * Values for a name whose `_acme-challenge` is delegated by NS; null: no account names it. The query does not
   * contain the target of the delegation, so the response has the values of all accounts that name it: only accounts
   * whose own target was found there have values.
   */
  async ofName(dnsName: string): Promise<readonly string[] | null> {
    const [row] = await this.database.query<[{ values: string[] | null }]>(
      `SELECT CASE WHEN count(*) = 0 THEN NULL
         ELSE coalesce(array_agg(DISTINCT value) FILTER (WHERE value IS NOT NULL), '{}') END AS values
       FROM delegation LEFT JOIN challenge_record
         ON challenge_record.label = delegation.label AND challenge_record.expires_at > clock_timestamp()
       WHERE delegation.dns_name = $1 AND delegation.retired_at IS NULL`,
      [dnsName],
    );
    return row.values;
  }

  /** Response to a CA's request through the rule with this secret; null: not of this account. */
  async fileFor(
    ruleSecret: string,
    token: string,
  ): Promise<{ readonly dnsName: string; readonly content: string } | null> {
    const [row] = await this.database.query<[{ dnsName: string; content: string }?]>(
      `SELECT challenge_file.dns_name AS "dnsName", challenge_file.content
       FROM challenge_file JOIN web_rule ON web_rule.account_id = challenge_file.account_id
       WHERE challenge_file.token = $2 AND web_rule.secret = $1 AND challenge_file.expires_at > clock_timestamp()`,
      [ruleSecret, token],
    );
    return row ?? null;
  }

  async forgetExpired(): Promise<void> {
    await this.database.query(
      `DELETE FROM challenge_record WHERE expires_at <= clock_timestamp() AND attempted_at IS NULL`,
    );
    await this.database.query(`DELETE FROM challenge_file WHERE expires_at <= clock_timestamp()`);
  }
}

const mayBeElsewhere = `challenge_record.attempted_at IS NOT NULL AND excluded.integration_id IS NOT NULL
  AND challenge_record.integration_id <> excluded.integration_id`;

const publishedAgain = `
  expires_at = CASE WHEN ${mayBeElsewhere} THEN least(challenge_record.expires_at, clock_timestamp())
    ELSE excluded.expires_at END,
  integration_id = CASE WHEN challenge_record.attempted_at IS NULL THEN excluded.integration_id
    ELSE challenge_record.integration_id END,
  record_handle = CASE WHEN challenge_record.expires_at <= clock_timestamp() AND NOT (${mayBeElsewhere}) THEN NULL
    ELSE challenge_record.record_handle END`;
