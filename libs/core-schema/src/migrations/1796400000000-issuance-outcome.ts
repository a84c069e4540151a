import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A front end opens and cancels issuances; issued or failed they become by a role that may store the certificate of an issuance.
 * Grants alone cannot say that: they know columns and no values.
 */
export class IssuanceOutcome1796400000000 implements MigrationInterface {
  readonly name = 'IssuanceOutcome1796400000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE FUNCTION issuance_outcome_is_granted() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         -- With its schema: a temporary table of the same name would be found first.
         IF NOT has_column_privilege(format('%I.certificate', TG_TABLE_SCHEMA), 'issuance_id', 'INSERT') THEN
           RAISE insufficient_privilege USING MESSAGE =
             format('permission denied: role %s may not set the state of an issuance to %s', current_user, NEW.state);
         END IF;
         RETURN NEW;
       END $$`,
    );
    await queryRunner.query(
      `CREATE TRIGGER issuance_outcome_is_granted BEFORE INSERT OR UPDATE OF state ON issuance
       FOR EACH ROW WHEN (NEW.state IN ('issued', 'failed')) EXECUTE FUNCTION issuance_outcome_is_granted()`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TRIGGER issuance_outcome_is_granted ON issuance`);
    await queryRunner.query(`DROP FUNCTION issuance_outcome_is_granted()`);
  }
}
