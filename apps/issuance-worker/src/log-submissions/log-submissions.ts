import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** A certificate to submit to one log, leased by the submitting process. */
export interface DueSubmission {
  readonly certificateId: string;
  readonly logUrl: string;
  /** Including this one. */
  readonly attempts: number;
  /** DER. */
  readonly leaf: Buffer;
  /** DER; the first certifies the leaf, the root is the last. */
  readonly chain: readonly Buffer[];
}

/** The promise of a log. */
export interface LogPromise {
  /** SignedCertificateTimestamp (RFC 6962, section 3.2). */
  readonly sct: Uint8Array;
  readonly loggedAt: Date;
}

type SubmissionKey = Pick<DueSubmission, 'certificateId' | 'logUrl'>;

/**
 * Submissions of certificates of the built-in CA to Certificate Transparency logs. Independent of issuance: intents
 * are written after the certificate, and no row of issuance is locked for them.
 */
@Injectable()
export class LogSubmissions {
  constructor(private readonly database: DataSource) {}

  /**
   * Records which certificates are to be submitted to which logs: each unexpired one once, to the logs that exist
   * then. The latest expiry comes first, which means the newest certificates when all have the same lifetime.
   *
   * @returns number of certificates checked
   */
  async choose(logUrls: readonly string[], limit: number): Promise<number> {
    // By serial number, too: an issuance that continued with another CA keeps the record of the built-in one.
    // LATERAL with its LIMIT: one index look-up for each signing, where a join might read every certificate.
    const [, looked]: [unknown[], number] = await this.database.query(
      `WITH chosen AS (
         SELECT signing.issuance_id, certificate.id AS certificate_id
         FROM ca_signing AS signing
         CROSS JOIN LATERAL (
           SELECT id FROM certificate
           WHERE issuance_id = signing.issuance_id AND serial_number = encode(signing.serial_number, 'hex')
           LIMIT 1) AS certificate
         WHERE NOT signing.logs_chosen AND signing.not_after > now()
         ORDER BY signing.not_after DESC ${atMost(limit)} FOR NO KEY UPDATE OF signing SKIP LOCKED),
       intended AS (
         INSERT INTO log_submission (certificate_id, log_url)
         SELECT certificate_id, log_url FROM chosen CROSS JOIN unnest($1::text[]) AS log_url
         ON CONFLICT DO NOTHING)
       UPDATE ca_signing SET logs_chosen = true FROM chosen WHERE ca_signing.issuance_id = chosen.issuance_id`,
      [logUrls],
    );
    return looked;
  }

  /**
   * Leases what is due at one log, latest due first. The holder reports the result before the lease ends; otherwise
   * it is due again. Expired certificates are deleted: no log needs them any more.
   */
  async lease(logUrl: string, limit: number, leaseMs: number): Promise<readonly DueSubmission[]> {
    const [rows]: [(Omit<DueSubmission, 'logUrl'> & { readonly expired: boolean })[], number] =
      await this.database.query(
        `WITH due AS (
           SELECT certificate_id FROM log_submission
           WHERE sct IS NULL AND log_url = $1 AND due_at <= now()
           ORDER BY due_at DESC ${atMost(limit)} FOR NO KEY UPDATE SKIP LOCKED)
         UPDATE log_submission AS submission SET
           attempts = submission.attempts + 1,
           due_at = clock_timestamp() + $2::int * interval '1 millisecond'
         FROM due
         JOIN certificate ON certificate.id = due.certificate_id
         JOIN certificate_chain AS chain ON chain.sha256 = certificate.chain_sha256
         WHERE submission.certificate_id = due.certificate_id AND submission.log_url = $1
         RETURNING submission.certificate_id AS "certificateId", submission.attempts, certificate.leaf,
           chain.chain || chain.root AS chain, certificate.not_after <= now() AS expired`,
        [logUrl, leaseMs],
      );
    const expired = rows.filter((row) => row.expired).map(({ certificateId }) => certificateId);
    if (expired.length > 0) await this.forget(logUrl, expired);
    return rows
      .filter((row) => !row.expired)
      .map(({ certificateId, attempts, leaf, chain }) => ({ certificateId, logUrl, attempts, leaf, chain }));
  }

  /**
   * The first promise is kept: a log returns the same one again. That of the first log is when the certificate has an SCT:
   * monitoring expects it in the index from then on.
   */
  async logged({ certificateId, logUrl }: SubmissionKey, { sct, loggedAt }: LogPromise): Promise<void> {
    await this.database.query(
      `WITH logged AS (
         UPDATE log_submission SET sct = $3, logged_at = $4, last_error = NULL
         WHERE certificate_id = $1 AND log_url = $2 AND sct IS NULL RETURNING certificate_id)
       UPDATE certificate SET sct_at = clock_timestamp() FROM logged
       WHERE certificate.id = logged.certificate_id AND certificate.sct_at IS NULL`,
      [certificateId, logUrl, sct, loggedAt],
    );
  }

  /** The log rejected it. */
  async postpone({ certificateId, logUrl }: SubmissionKey, delayMs: number, problem: string): Promise<void> {
    await this.database.query(
      `UPDATE log_submission SET due_at = clock_timestamp() + $3::float8 * interval '1 millisecond', last_error = $4
       WHERE certificate_id = $1 AND log_url = $2 AND sct IS NULL`,
      [certificateId, logUrl, delayMs, problem],
    );
  }

  /** Releases submissions when the log was unavailable; the attempt does not count. */
  async release(logUrl: string, certificateIds: readonly string[]): Promise<void> {
    await this.database.query(
      `UPDATE log_submission SET due_at = clock_timestamp(), attempts = attempts - 1
       WHERE certificate_id = ANY($2::bigint[]) AND log_url = $1 AND sct IS NULL`,
      [logUrl, certificateIds],
    );
  }

  private async forget(logUrl: string, certificateIds: readonly string[]): Promise<void> {
    await this.database.query(
      `DELETE FROM log_submission WHERE certificate_id = ANY($2::bigint[]) AND log_url = $1 AND sct IS NULL`,
      [logUrl, certificateIds],
    );
  }
}

/**
 * Inlined in the text, since statements are prepared: with a limit as a parameter PostgreSQL plans for a tenth of the
 * table, and then reads every certificate.
 */
function atMost(limit: number): string {
  return `LIMIT ${Math.trunc(limit)}`;
}
