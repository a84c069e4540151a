import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which certificates of the built-in CA are to be shown to which Certificate Transparency logs. */
export class LogSubmissions1795651300000 implements MigrationInterface {
  readonly name = 'LogSubmissions1795651300000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `CREATE TABLE log_submission (
      certificate_id bigint NOT NULL,
      log_url text COLLATE "C" NOT NULL,
      due_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      attempts integer NOT NULL DEFAULT '0',
      last_error text,
      sct bytea,
      logged_at TIMESTAMP WITH TIME ZONE,
      CONSTRAINT log_submission_promise CHECK ((sct IS NULL) = (logged_at IS NULL)),
      CONSTRAINT "PK_48fbcbdb8f1d7c69559d590a879" PRIMARY KEY (certificate_id, log_url)
    )`,
  `COMMENT ON COLUMN log_submission.log_url IS 'of submissions; ends in a slash'`,
  `COMMENT ON COLUMN log_submission.due_at IS 'or when a lease ends'`,
  `COMMENT ON COLUMN log_submission.sct IS 'SignedCertificateTimestamp (RFC 6962, 3.2) as the log gave it; its signature is not verified'`,
  `COMMENT ON COLUMN log_submission.logged_at IS 'as the SCT says'`,
  `CREATE INDEX log_submission_due ON log_submission (log_url, due_at) WHERE sct IS NULL`,
  `ALTER TABLE log_submission ADD CONSTRAINT "FK_5c0d129129a4aa68a740dbfe8e5" FOREIGN KEY (certificate_id) REFERENCES certificate(id) ON DELETE CASCADE`,
  `ALTER TABLE ca_signing ADD logs_chosen boolean NOT NULL DEFAULT false`,
  `COMMENT ON COLUMN ca_signing.logs_chosen IS 'whether it was written down where the certificate is to be logged'`,
  `CREATE INDEX ca_signing_logs_to_choose ON ca_signing (not_after) WHERE NOT logs_chosen`,
];

const down = [
  `DROP INDEX ca_signing_logs_to_choose`,
  `ALTER TABLE ca_signing DROP COLUMN logs_chosen`,
  `DROP TABLE log_submission`,
];
