import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Searches pass over the runs that do not have a key. Runs without a filter get one when they are merged. */
export class CtRunFilters1797400000000 implements MigrationInterface {
  readonly name = 'CtRunFilters1797400000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of [
      `ALTER TABLE ct_run ADD COLUMN filter_id bigint, ADD COLUMN filter bytea`,
      // It does not compress, and is read in pieces.
      `ALTER TABLE ct_run ALTER COLUMN filter SET STORAGE EXTERNAL`,
      `COMMENT ON COLUMN ct_run.filter IS 'Bloom filter of its keys; NULL: all keys are possible'`,
    ])
      await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE ct_run DROP COLUMN filter, DROP COLUMN filter_id`);
  }
}
