import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Summaries of backfills are gathered by account. */
export class BackfillMails1796730000000 implements MigrationInterface {
  readonly name = 'BackfillMails1796730000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `ALTER TABLE monitoring_backfill ADD COLUMN mail_due boolean NOT NULL DEFAULT false`,
  `COMMENT ON COLUMN monitoring_backfill.mail_due IS 'something was found; mailed once no backfill of the account is open'`,
  `CREATE INDEX monitoring_backfill_to_mail ON monitoring_backfill (account_id) WHERE mail_due`,
];

const down = [`ALTER TABLE monitoring_backfill DROP COLUMN mail_due`];
