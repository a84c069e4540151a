import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Tx } from '@certwright/core-schema';
import {
  type IdempotentRequest,
  keptHours,
  keyInUse,
  keyReused,
  requestDigest,
  type RepeatableAnswer,
} from './idempotency-records';

/** The right to carry out a request. */
export interface Reservation {
  readonly accountId: string;
  readonly requestSha256: Buffer;
  /** The fencing token. */
  readonly token: string;
}

interface RecordRow extends RepeatableAnswer {
  readonly body_sha256: Buffer;
}

/** Status of a request that is still carried out. */
const reserved = 0;

/**
 * Requests with an `Idempotency-Key` whose work is no transaction, since it waits for somebody else. Reserved before the
 * work, settled in the transaction that stores what came of it; what a crash leaves reserved is free again by itself.
 */
@Injectable()
export class ReservedRequests {
  constructor(private readonly database: DataSource) {}

  /**
   * @param forMs longer than the work ever takes
   * @returns the answer that this request already got, or the right to carry it out
   * @throws Problem `idempotency_key_in_use`, `idempotency_key_reused`
   */
  async reserve(
    request: IdempotentRequest,
    forMs: number,
  ): Promise<{ readonly answer: RepeatableAnswer } | { readonly reservation: Reservation }> {
    const reservation = {
      accountId: request.accountId,
      requestSha256: requestDigest(request),
      token: randomUUID(),
    };
    const { accountId, requestSha256, token } = reservation;
    const taken: unknown[] = await this.database.query(reserveStatement, [
      accountId,
      requestSha256,
      request.fingerprint.kept,
      token,
      keptHours,
      forMs,
    ]);
    if (taken.length > 0) return { reservation };
    const rows: RecordRow[] = await this.database.query(
      `SELECT body_sha256, status, headers, body FROM idempotency_record
       WHERE account_id = $1 AND request_sha256 = $2`,
      [accountId, requestSha256],
    );
    const [row] = rows;
    // Given up meanwhile: the repeating client gets it.
    if (row === undefined) throw keyInUse();
    if (!request.fingerprint.matches(row.body_sha256)) throw keyReused();
    if (row.status === reserved) throw keyInUse();
    return { answer: { status: row.status, headers: row.headers, body: row.body } };
  }

  /**
   * Stores the answer, in the transaction of what it tells of.
   *
   * @throws Problem `idempotency_key_in_use` when the work took too long and somebody else does it: nothing may be stored
   */
  async settle(
    tx: Tx,
    { accountId, requestSha256, token }: Reservation,
    answer: RepeatableAnswer,
  ): Promise<void> {
    const [, settled] = await tx.query<[unknown, number]>(
      `UPDATE idempotency_record SET status = $4, headers = $5, body = $6, created_at = now() WHERE ${held}`,
      [accountId, requestSha256, token, answer.status, JSON.stringify(answer.headers), answer.body],
    );
    if (settled === 0) throw keyInUse();
  }

  /** After a failure, which is not stored: the next one with this key is carried out. */
  async giveUp({ accountId, requestSha256, token }: Reservation): Promise<void> {
    await this.database.query(`DELETE FROM idempotency_record WHERE ${held}`, [
      accountId,
      requestSha256,
      token,
    ]);
  }
}

const held = `account_id = $1 AND request_sha256 = $2 AND status = ${reserved} AND body = $3`;

/** $5 hours that an answer is kept, $6 ms that a reservation holds. Of two at a time one gets the row. */
const reserveStatement = `
  INSERT INTO idempotency_record AS kept (account_id, request_sha256, body_sha256, status, headers, body, created_at)
  VALUES ($1, $2, $3, ${reserved}, '{}', $4, clock_timestamp())
  ON CONFLICT (account_id, request_sha256) DO UPDATE
  SET body_sha256 = excluded.body_sha256, status = excluded.status, headers = excluded.headers, body = excluded.body,
      created_at = excluded.created_at
  WHERE kept.created_at <= clock_timestamp() - make_interval(hours => $5)
     OR (kept.status = ${reserved} AND kept.created_at <= clock_timestamp() - $6::int * interval '1 millisecond')
  RETURNING 1`;
