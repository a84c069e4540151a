import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which mails about certificates an account wants. */
export class CertificateMails1796169600000 implements MigrationInterface {
  readonly name = 'CertificateMails1796169600000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `ALTER TABLE account ADD mail_when_issued boolean NOT NULL DEFAULT true`,
  `COMMENT ON COLUMN account.mail_when_issued IS 'a mail for each instance of the certificate API (v2) that is issued'`,
  `ALTER TABLE account ADD mail_when_revoked boolean NOT NULL DEFAULT true`,
  `COMMENT ON COLUMN account.mail_when_revoked IS 'a mail when a revocation by the certificate API (v2) is complete'`,
];

const down = [
  `ALTER TABLE account DROP COLUMN mail_when_revoked`,
  `ALTER TABLE account DROP COLUMN mail_when_issued`,
];
