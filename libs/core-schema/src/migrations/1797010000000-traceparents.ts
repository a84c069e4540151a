import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Rows that cause work in other processes keep the W3C traceparent of the transaction that inserted them, as
 * `Transactions` sets it. A default, so that neither statements nor grants name the column.
 */
export class Traceparents1797010000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of tables) {
      await queryRunner.query(`ALTER TABLE ${table} ADD COLUMN traceparent text`);
      await queryRunner.query(
        `ALTER TABLE ${table} ALTER COLUMN traceparent SET DEFAULT nullif(current_setting('certwright.traceparent', true), '')`,
      );
    }
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const table of tables) await queryRunner.query(`ALTER TABLE ${table} DROP COLUMN traceparent`);
  }
}

const tables = ['outbox', 'issuance', 'webhook_delivery', 'mail'];
