import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Mails about revocations are found by their certificate. */
export class RevocationMails1797230000000 implements MigrationInterface {
  readonly name = 'RevocationMails1797230000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE INDEX mail_revocation ON mail ((facts ->> 'certificateId')) WHERE kind = 'revocation-complete'`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX mail_revocation`);
  }
}
