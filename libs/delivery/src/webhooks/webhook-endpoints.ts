import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Tx } from '@certwright/core-schema';
import { defaultEvents, type EventSelector, selectorsOf, type WebhookEvent } from '@certwright/webhooks';
import { cancelPending } from './webhook-deliveries';
import type { WebhookEndpointEntity } from '@certwright/core-schema';

/** As it is stored; secrets are sealed, and only who holds the sealing keys can open them. */
export type WebhookEndpoint = Readonly<
  Omit<WebhookEndpointEntity, 'olderSecretsSealed' | 'olderSecretsUntil'>
>;

export interface NewWebhookEndpoint {
  /** A fresh random 48-bit integer, in decimal. */
  readonly id: string;
  readonly accountId: string;
  /** Without user and password. */
  readonly url: string;
  /** Sealed "user:password"; null without. Context of the seal: `webhook-endpoint:<id>:credentials`. */
  readonly credentialsSealed: Buffer | null;
  /** Sealed `whsec_…`. Context of the seal: `webhook-endpoint:<id>:secret`, for a previous secret too. */
  readonly secretSealed: Buffer;
  readonly description: string;
  readonly enabled: boolean;
  /** Absent: the default. */
  readonly events?: readonly EventSelector[];
}

/** What is left out stays. */
export interface WebhookEndpointChange {
  readonly url?: string;
  readonly credentialsSealed?: Buffer | null;
  readonly description?: string;
  /** True also forgets why the platform switched it off; false cancels what still waits for it. */
  readonly enabled?: boolean;
  /** Deliveries that wait are sent in any case. */
  readonly events?: readonly EventSelector[];
}

/** Endpoints of one account at most, so that none can multiply its deliveries without bound. */
export const maxWebhookEndpoints = 20;

/** How long a secret signs after it was replaced, hours. */
const rotationHours = 24;

/** Secrets before the present one that may still sign: each adds 48 characters to `webhook-signature`. */
export const maxPreviousSecrets = 8;

/** A rotation is refused, because it would end a secret too early. */
export interface TooManySecrets {
  /** When the oldest of them ends. */
  readonly rotatableAt: Date;
}

/** The webhook endpoints of accounts. Every method is limited to the account's own endpoints. */
@Injectable()
export class WebhookEndpoints {
  constructor(private readonly database: DataSource) {}

  /** @returns null when the account has `maxWebhookEndpoints` already */
  async create(tx: Tx, endpoint: NewWebhookEndpoint): Promise<WebhookEndpoint | null> {
    // One creation at a time for each account, or two would count the same.
    await tx.query(`SELECT 1 FROM account WHERE id = $1 FOR NO KEY UPDATE`, [endpoint.accountId]);
    const withEvents = endpoint.events !== undefined;
    const rows: WebhookEndpoint[] = await tx.query(
      `INSERT INTO webhook_endpoint
         (id, account_id, url, credentials_sealed, secret_sealed, description, enabled${withEvents ? ', events' : ''})
       SELECT $1, $2, $3, $4, $5, $6, $7${withEvents ? ', $9::text[]' : ''}
       WHERE (SELECT count(*) FROM webhook_endpoint WHERE account_id = $2) < $8
       RETURNING ${columns}`,
      [
        endpoint.id,
        endpoint.accountId,
        endpoint.url,
        endpoint.credentialsSealed,
        endpoint.secretSealed,
        endpoint.description,
        endpoint.enabled,
        maxWebhookEndpoints,
        ...(withEvents ? [endpoint.events] : []),
      ],
    );
    return rows[0] ?? null;
  }

  /** Oldest first. */
  async ofAccount(accountId: string): Promise<WebhookEndpoint[]> {
    return await this.database.query(
      `SELECT ${columns} FROM webhook_endpoint WHERE account_id = $1 ORDER BY created_at, id`,
      [accountId],
    );
  }

  /**
   * Ids of the enabled endpoints that selected an event, ascending: writers of several endpoints lock them in this order
   * and never meet a deadlock.
   */
  async selecting(
    accountId: string,
    event: WebhookEvent,
    reader: Pick<Tx, 'query'> = this.database,
  ): Promise<string[]> {
    // In a schema without the column, `events` is that of `before_migration`.
    const rows: { id: string }[] = await reader.query(
      `SELECT endpoint.id FROM (SELECT $3::text[] AS events) AS before_migration CROSS JOIN LATERAL (
         SELECT id FROM webhook_endpoint WHERE account_id = $1 AND enabled AND events && $2::text[]) AS endpoint
       ORDER BY endpoint.id`,
      [accountId, selectorsOf(event), defaultEvents],
    );
    return rows.map(({ id }) => id);
  }

  async get(
    accountId: string,
    id: string,
    reader: Pick<Tx, 'query'> = this.database,
  ): Promise<WebhookEndpoint | null> {
    const rows: WebhookEndpoint[] = await reader.query(
      `SELECT ${columns} FROM webhook_endpoint WHERE id = $1 AND account_id = $2`,
      [id, accountId],
    );
    return rows[0] ?? null;
  }

  /** @returns null when the account has no such endpoint */
  async update(
    tx: Tx,
    accountId: string,
    id: string,
    change: WebhookEndpointChange,
  ): Promise<WebhookEndpoint | null> {
    const withEvents = change.events !== undefined;
    const [[changed]] = await tx.query<[WebhookEndpoint[], number]>(updateStatement(withEvents), [
      id,
      accountId,
      change.url ?? null,
      change.credentialsSealed !== undefined,
      change.credentialsSealed ?? null,
      change.description ?? null,
      change.enabled ?? null,
      ...(withEvents ? [change.events] : []),
    ]);
    if (changed === undefined) return null;
    if (change.enabled === false) await cancelPending(tx, id);
    return changed;
  }

  /**
   * From now on `secretSealed` signs. Each secret of before signs until 24 h after it was replaced: a receiver may have
   * any of them, for example because the response with the one in between was lost.
   *
   * @returns null when there is no such endpoint
   */
  async rotateSecret(
    tx: Tx,
    accountId: string,
    id: string,
    secretSealed: Buffer,
  ): Promise<WebhookEndpoint | TooManySecrets | null> {
    await tx.query(`SELECT FROM webhook_endpoint WHERE id = $1 AND account_id = $2 FOR UPDATE`, [
      id,
      accountId,
    ]);
    const [kept] = await tx.query<[KeptSecrets?]>(keptSecretsStatement, [id, accountId]);
    if (kept === undefined) return null;
    if (kept.count >= maxPreviousSecrets) return { rotatableAt: kept.firstUntil };
    const [[changed]] = await tx.query<[[WebhookEndpoint], number]>(rotateStatement(kept.keepsOlder), [
      id,
      accountId,
      secretSealed,
      rotationHours,
    ]);
    return changed;
  }

  /** With all its deliveries and their log. @returns false when the account has no such endpoint */
  async delete(tx: Tx, accountId: string, id: string): Promise<boolean> {
    const [, deleted] = await tx.query<[unknown, number]>(
      `DELETE FROM webhook_endpoint WHERE id = $1 AND account_id = $2`,
      [id, accountId],
    );
    return deleted > 0;
  }
}

interface KeptSecrets {
  /** Previous secrets that still sign. */
  readonly count: number;
  readonly firstUntil: Date;
  /** The schema has the columns of older secrets. */
  readonly keepsOlder: boolean;
}

/** In a schema without the column, `older_secrets_until` is that of `before_migration`. */
const keptSecretsStatement = `
  SELECT kept.* FROM (SELECT NULL::timestamptz[] AS older_secrets_until) AS before_migration CROSS JOIN LATERAL (
    SELECT (SELECT count(*)::int FROM unnest(previous_secret_until || older_secrets_until) AS until
            WHERE until > now()) AS count,
      (SELECT min(until) FROM unnest(previous_secret_until || older_secrets_until) AS until
       WHERE until > now()) AS "firstUntil",
      older_secrets_until IS NOT NULL AS "keepsOlder"
    FROM webhook_endpoint WHERE id = $1 AND account_id = $2) AS kept`;

const rotateStatement = (keepsOlder: boolean) => `
  UPDATE webhook_endpoint SET
    ${keepsOlder ? keepOlder : ''}
    previous_secret_sealed = secret_sealed,
    previous_secret_until = now() + $4::int * interval '1 hour',
    secret_sealed = $3
  WHERE id = $1 AND account_id = $2 RETURNING ${columns}`;

const keepOlder = `
    (older_secrets_sealed, older_secrets_until) = (
      SELECT coalesce(array_agg(sealed ORDER BY until), '{}'), coalesce(array_agg(until ORDER BY until), '{}')
      FROM (SELECT previous_secret_sealed, previous_secret_until
            UNION ALL SELECT * FROM unnest(older_secrets_sealed, older_secrets_until)) AS replaced (sealed, until)
      WHERE until > now()),`;

/** `events` through JSON, so that it works without the column too. */
const columns = `id, account_id AS "accountId", url, credentials_sealed AS "credentialsSealed",
  secret_sealed AS "secretSealed", previous_secret_sealed AS "previousSecretSealed",
  previous_secret_until AS "previousSecretUntil", description, enabled, disabled_reason AS "disabledReason",
  failing_since AS "failingSince", failed_at AS "failedAt", created_at AS "createdAt",
  ARRAY(SELECT jsonb_array_elements_text(
    coalesce(to_jsonb(webhook_endpoint) -> 'events', '${JSON.stringify(defaultEvents)}'))) AS events`;

/** Another address, or a fresh start, begins without the failures of before. */
const updateStatement = (withEvents: boolean) => `
  UPDATE webhook_endpoint SET
    url = coalesce($3, url),
    credentials_sealed = CASE WHEN $4::boolean THEN $5::bytea ELSE credentials_sealed END,
    description = coalesce($6, description),
    enabled = coalesce($7::boolean, enabled),
    ${withEvents ? 'events = $8::text[],' : ''}
    disabled_reason = CASE WHEN $7::boolean IS NULL THEN disabled_reason END,
    failing_since = CASE WHEN $3::text IS NULL AND $7::boolean IS DISTINCT FROM true THEN failing_since END,
    failed_at = CASE WHEN $3::text IS NULL AND $7::boolean IS DISTINCT FROM true THEN failed_at END
  WHERE id = $1 AND account_id = $2 RETURNING ${columns}`;
