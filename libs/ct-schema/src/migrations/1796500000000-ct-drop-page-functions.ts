import type { MigrationInterface, QueryRunner } from 'typeorm';
import { pageFunctions } from './ct-postings-functions';

/** Pages are read with plain statements: no release since the partition functions calls these. */
export class CtDropPageFunctions1796500000000 implements MigrationInterface {
  readonly name = 'CtDropPageFunctions1796500000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const name of ['ct_find_postings', 'ct_pack_issuances', 'ct_pack_stream'])
      await queryRunner.query(`DROP FUNCTION ${name}`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of pageFunctions) await queryRunner.query(statement);
  }
}
