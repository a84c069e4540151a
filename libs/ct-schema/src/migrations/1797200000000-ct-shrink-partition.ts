import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A partition of positions is reduced to its few unexpired issuances by a role that owns nothing. */
export class CtShrinkPartition1797200000000 implements MigrationInterface {
  readonly name = 'CtShrinkPartition1797200000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    const [{ schema }] = (await queryRunner.query(`SELECT quote_ident(current_schema()) AS schema`)) as [
      { schema: string },
    ];
    // The rows are copied: TRUNCATE frees the space, and blocks readers and writers of these two tables, but of no other partition.
    await queryRunner.query(`CREATE FUNCTION ct_shrink_partition(past bigint, living bigint[]) RETURNS void
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = ${schema}, pg_temp AS $$
      BEGIN
        EXECUTE format('LOCK TABLE ct_issuance_p%1$s, ct_block_p%1$s IN ACCESS EXCLUSIVE MODE', past);
        EXECUTE format('CREATE TEMPORARY TABLE ct_living_issuance ON COMMIT DROP AS
          SELECT * FROM ct_issuance_p%s WHERE position = ANY ($1)', past) USING living;
        EXECUTE format('CREATE TEMPORARY TABLE ct_living_block ON COMMIT DROP AS SELECT * FROM ct_block_p%s', past);
        EXECUTE format('TRUNCATE ct_issuance_p%1$s, ct_block_p%1$s', past);
        EXECUTE format('INSERT INTO ct_issuance_p%s SELECT * FROM pg_temp.ct_living_issuance', past);
        EXECUTE format('INSERT INTO ct_block_p%s SELECT * FROM pg_temp.ct_living_block', past);
      END $$`);
    await queryRunner.query(`REVOKE EXECUTE ON FUNCTION ct_shrink_partition(bigint,bigint[]) FROM PUBLIC`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP FUNCTION ct_shrink_partition(bigint,bigint[])`);
  }
}
