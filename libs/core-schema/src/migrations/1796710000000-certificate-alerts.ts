import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What alerts compare certificates with, and how findings are found that a new certificate makes known. */
export class CertificateAlerts1796710000000 implements MigrationInterface {
  readonly name = 'CertificateAlerts1796710000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `CREATE TABLE monitored_name (
      account_id bigint NOT NULL,
      dns_name text COLLATE "C" NOT NULL,
      tbs_sha256 bytea NOT NULL,
      position bigint NOT NULL,
      CONSTRAINT "PK_monitored_name" PRIMARY KEY (account_id, dns_name)
    )`,
  `COMMENT ON COLUMN monitored_name.dns_name IS 'as in the certificate, in lower case'`,
  `COMMENT ON COLUMN monitored_name.tbs_sha256 IS 'of the finding'`,
  `COMMENT ON COLUMN monitored_name.position IS 'of the issuance in the index'`,
  `ALTER TABLE monitored_name ADD CONSTRAINT "FK_73fcd8a4890f1de230cc1b0c5f0" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE monitoring_finding ADD previous_tbs_sha256 bytea`,
  `COMMENT ON COLUMN monitoring_finding.previous_tbs_sha256 IS 'of the newest finding before it that shares a name; null: none'`,
  `CREATE INDEX monitoring_finding_open ON monitoring_finding (account_id, tbs_sha256) WHERE state IN ('waiting', 'unknown')`,
  `CREATE INDEX certificate_created ON certificate (created_at)`,
  `CREATE INDEX monitoring_account_mail ON monitoring_account (mail_due_at) WHERE mail_due_at IS NOT NULL`,
];

const down = [
  `DROP INDEX monitoring_account_mail`,
  `DROP INDEX certificate_created`,
  `DROP INDEX monitoring_finding_open`,
  `ALTER TABLE monitoring_finding DROP COLUMN previous_tbs_sha256`,
  `DROP TABLE monitored_name`,
];
