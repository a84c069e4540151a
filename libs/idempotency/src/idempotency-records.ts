import { createHash } from 'node:crypto';
import { Problem } from '@certwright/errors';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Tx } from '@certwright/core-schema';

export interface IdempotentRequest {
  readonly accountId: string;
  readonly method: string;
  readonly path: string;
  /** The `Idempotency-Key`. */
  readonly key: string;
  readonly fingerprint: BodyFingerprint;
}

/** What tells one body from another, in a form that may be stored. */
export interface BodyFingerprint {
  readonly kept: Buffer;
  /** @param kept of the request that came first with this key */
  matches(kept: Buffer): boolean;
}

/** Never of a body that holds a credential, since that could be guessed from its digest. */
export function plainFingerprint(body: string): BodyFingerprint {
  const digest = sha256(body);
  return { kept: digest, matches: (kept) => kept.equals(digest) };
}

/** An answer as it is kept: complete, so that it can be sent again. */
export interface RepeatableAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface RecordRow extends RepeatableAnswer {
  readonly body_sha256: Buffer;
}

/** A key is remembered for 24 h. */
export const keptHours = 24;

@Injectable()
export class IdempotencyRecords {
  constructor(private readonly database: DataSource) {}

  /**
   * To be called first in the transaction that does the work. The same key cannot pass here twice at the same time.
   *
   * @returns the answer that this request already got; null when it is to be carried out
   * @throws Problem `idempotency_key_in_use` while another request with this key runs; `idempotency_key_reused` when the
   *   key was used with another body
   */
  async begin(tx: Tx, request: IdempotentRequest): Promise<RepeatableAnswer | null> {
    const requestSha256 = requestDigest(request);
    const [lock] = await tx.query<[{ taken: boolean }]>(`SELECT pg_try_advisory_xact_lock($1) AS taken`, [
      lockNumber(request.accountId, requestSha256),
    ]);
    if (!lock.taken) throw keyInUse();
    const rows: RecordRow[] = await tx.query(
      `SELECT body_sha256, status, headers, body FROM idempotency_record
       WHERE account_id = $1 AND request_sha256 = $2 AND created_at > now() - make_interval(hours => $3)`,
      [request.accountId, requestSha256, keptHours],
    );
    const [row] = rows;
    if (row === undefined) return null;
    if (!request.fingerprint.matches(row.body_sha256)) throw keyReused();
    return { status: row.status, headers: row.headers, body: row.body };
  }

  /** Stores the answer in the same transaction as the work. */
  async finish(tx: Tx, request: IdempotentRequest, answer: RepeatableAnswer): Promise<void> {
    await tx.query(
      `INSERT INTO idempotency_record (account_id, request_sha256, body_sha256, status, headers, body)
       VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (account_id, request_sha256) DO UPDATE
       SET body_sha256 = excluded.body_sha256, status = excluded.status, headers = excluded.headers,
           body = excluded.body, created_at = now()`,
      [
        request.accountId,
        requestDigest(request),
        request.fingerprint.kept,
        answer.status,
        JSON.stringify(answer.headers),
        answer.body,
      ],
    );
  }

  /** @returns how many records had outlived their time */
  async forgetOld(): Promise<number> {
    const [, removed] = await this.database.query<[unknown, number]>(
      `DELETE FROM idempotency_record WHERE created_at < now() - make_interval(hours => $1)`,
      [keptHours],
    );
    return removed;
  }
}

export function keyInUse(): Problem {
  return new Problem(
    'idempotency_key_in_use',
    'A request with this Idempotency-Key is still being carried out.',
    { retryAfterS: 1 },
  );
}

export function keyReused(): Problem {
  return new Problem('idempotency_key_reused', 'This Idempotency-Key was used with another request body.');
}

export function requestDigest({ method, path, key }: Omit<IdempotentRequest, 'fingerprint'>): Buffer {
  return sha256(`${method}\0${path}\0${key}`);
}

/** 63 bits of a digest over account and request, as PostgreSQL's advisory locks take them. */
function lockNumber(accountId: string, requestSha256: Buffer): string {
  const digest = createHash('sha256').update(`${accountId}\0`).update(requestSha256).digest();
  return (digest.readBigUInt64BE() >> 1n).toString();
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
