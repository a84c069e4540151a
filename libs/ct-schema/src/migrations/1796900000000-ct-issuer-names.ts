import type { MigrationInterface, QueryRunner } from 'typeorm';

/** CAs are looked up by their names, to complete the paths of presented certificates. */
export class CtIssuerNames1796900000000 implements MigrationInterface {
  readonly name = 'CtIssuerNames1796900000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`CREATE INDEX ct_issuer_name ON ct_issuer (name_sha256)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX ct_issuer_name`);
  }
}
