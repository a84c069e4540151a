import type { MigrationInterface, QueryRunner } from 'typeorm';
import { pageFunctions } from './ct-postings-functions';

/** Pages are read with plain statements, many of them at once, and not with functions any more. */
export class CtPageStatements1795737600000 implements MigrationInterface {
  readonly name = 'CtPageStatements1795737600000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const name of ['ct_find_postings', 'ct_pack_issuances', 'ct_pack_stream'])
      await queryRunner.query(`DROP FUNCTION ${name}`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of pageFunctions) await queryRunner.query(statement);
  }
}
