import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Payments and adjustments carry the reference of the operator, so that a repeated command books once. */
export class BookingReferences1797200000000 implements MigrationInterface {
  readonly name = 'BookingReferences1797200000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE ledger_entry ADD reference text`);
    await queryRunner.query(
      `COMMENT ON COLUMN ledger_entry.reference IS 'of the operator, such as the number of a bank transfer; null: a charge or refund, or an older entry'`,
    );
    await queryRunner.query(
      `CREATE UNIQUE INDEX ledger_entry_reference ON ledger_entry (account_id, reference) WHERE reference IS NOT NULL`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE ledger_entry DROP COLUMN reference`);
  }
}
