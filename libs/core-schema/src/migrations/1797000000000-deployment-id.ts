import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Deployments that share a Redis recognize each other, also if both have the same mode. */
export class DeploymentId1797000000000 implements MigrationInterface {
  readonly name = 'DeploymentId1797000000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE deployment ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid()`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE deployment DROP COLUMN id`);
  }
}
