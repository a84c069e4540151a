import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';

/** A certificate that one log is to take in, in the hands of the process that submits it. */
export interface DueSubmission {
  readonly certificateId: string;
  readonly logUrl: string;
  /** This one counted. */
  readonly attempts: number;
  /** DER. */
  readonly leaf: Buffer;
  /** DER; the first certifies the leaf, the root is the last. */
  readonly chain: readonly Buffer[];
}

/** What a log promised. */
export interface LogPromise {
  /** SignedCertificateTimestamp (RFC 6962, section 3.2). */
  readonly sct: Uint8Array;
  readonly loggedAt: Date;
}

type SubmissionKey = Pick<DueSubmission, 'certificateId' | 'logUrl'>;

/**
 * Certificates of the built-in CA on their way to Certificate Transparency logs. Nothing here takes part in issuance: intents
 * are written after the certificate is, and no row of issuance is locked for them.
 */
@Injectable()
export class LogSubmissions {
  constructor(private readonly database: DataSource) {}

  /**
   * Writes down which certificates are to be submitted where: each unexpired one once, to the logs that there are then. Those
   * that come last to their end come first, which are the newest where all live equally long.
   *
   * @returns how many were looked at
   */
  async choose(logUrls: readonly string[], limit: number): Promise<number> {
    // By serial number, too: an issuance that went on to another CA keeps what the built-in one had recorded.
    // LATERAL with its LIMIT: one look into the index for each signing, where a join might read every certificate there is.
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
   * Takes what is due at one log, what became due last first. Whoever takes it tells before the lease ends how it went;
   * otherwise it is due again. What has expired is forgotten: no log needs it any more.
   */
  async lease(logUrl: string, limit: number, leaseMs: number): Promise<readonly DueSubmission[]> {
    const [rows]: [(Omit<DueSubmission, 'logUrl'> & { readonly expired: boolean })[], number] =
      await this.database.query(
        `WITH due AS (
           SELECT certificate_id FROM log_submission
           WHERE sct IS NULL AND log_url = $1 AND due_at <= clock_timestamp()
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

  /** The first promise stands: a log gives the same one again. */
  async logged({ certificateId, logUrl }: SubmissionKey, { sct, loggedAt }: LogPromise): Promise<void> {
    await this.database.query(
      `UPDATE log_submission SET sct = $3, logged_at = $4, last_error = NULL
       WHERE certificate_id = $1 AND log_url = $2 AND sct IS NULL`,
      [certificateId, logUrl, sct, loggedAt],
    );
  }

  /** The log did not take it. */
  async postpone({ certificateId, logUrl }: SubmissionKey, delayMs: number, problem: string): Promise<void> {
    await this.database.query(
      `UPDATE log_submission SET due_at = clock_timestamp() + $3::float8 * interval '1 millisecond', last_error = $4
       WHERE certificate_id = $1 AND log_url = $2 AND sct IS NULL`,
      [certificateId, logUrl, delayMs, problem],
    );
  }

  /** Gives back what the log was not there for; the attempt does not count. */
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
 * In the text, since statements are prepared: for a limit that is a parameter PostgreSQL plans a tenth of the table, and then
 * reads every certificate.
 */
function atMost(limit: number): string {
  return `LIMIT ${Math.trunc(limit)}`;
}
