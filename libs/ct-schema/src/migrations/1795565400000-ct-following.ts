import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a log's checkpoints are called, how the ingestion of each log goes, and what the columns are. */
export class CtFollowing1795565400000 implements MigrationInterface {
  readonly name = 'CtFollowing1795565400000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `ALTER TABLE ct_log ADD COLUMN origin text, ADD COLUMN entry_at TIMESTAMP WITH TIME ZONE,
         ADD COLUMN entries_per_second double precision NOT NULL DEFAULT '0'`,
    );
    for (const [column, comment] of Object.entries(comments)) {
      await queryRunner.query(`COMMENT ON COLUMN ${column} IS '${comment}'`);
    }
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `ALTER TABLE ct_log DROP COLUMN origin, DROP COLUMN entry_at, DROP COLUMN entries_per_second`,
    );
    for (const column of Object.keys(comments).filter((each) => !added.has(each))) {
      await queryRunner.query(`COMMENT ON COLUMN ${column} IS NULL`);
    }
  }
}

const added: ReadonlySet<string> = new Set(['ct_log.origin', 'ct_log.entry_at', 'ct_log.entries_per_second']);

const comments = {
  'ct_log.origin': 'first line of its checkpoints; null for rfc6962',
  'ct_log.entry_at': 'timestamp of the newest ingested entry',
  'ct_log.entries_per_second': 'average that decays within a minute, as of ingested_at',
  'ct_log.log_id': 'SHA-256 over the DER SubjectPublicKeyInfo of the log',
  'ct_log.key_der': 'DER SubjectPublicKeyInfo',
  'ct_log.mmd_s': 'maximum merge delay, seconds',
  'ct_log.interval_start': 'of a temporal shard',
  'ct_log.interval_end': 'exclusive',
  'ct_log.start_index': 'first entry that is ingested',
  'ct_log.position': 'next entry that is ingested',
  'ct_log.head_size': 'of the newest signed head that was verified',
  'ct_log.head_at': 'the time that the head was signed with',
  'ct_log.head_signed': 'STH as JSON, or checkpoint note, as fetched',
  'ct_log.entries_odd': 'entries that could not be read',
  'ct_log.failures': 'failures in a row',
  'ct_log.lease_token': 'fencing token',
  'ct_log.leased_until': 'by the clock of the database',
  'ct_log.ingested_at': 'newest batch',
  'ct_odd_entry.leaf': 'its first 64 KiB',
  'ct_odd_entry.leaf_bytes': 'octets of the whole', // language: comment of a stored column
  'ct_issuer.spki_sha256': 'SHA-256 over the DER SubjectPublicKeyInfo',
  'ct_issuer.name_sha256': 'SHA-256 over name_der',
  'ct_issuer.name_der': 'DER Name, as it stands in the issuer field', // language: comment of a stored column
  'ct_issuer.spki_der': 'null while no CA certificate was seen',
  'ct_issuer.certificate_der': 'one of its CA certificates',
} as const;
