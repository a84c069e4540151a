import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Since when a CA is down, and which issuances wait for it. */
export class CaHealth1795737600000 implements MigrationInterface {
  readonly name = 'CaHealth1795737600000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `ALTER TABLE certificate_authority ADD down_since TIMESTAMP WITH TIME ZONE`,
  `ALTER TABLE certificate_authority ADD down_for text`,
  `ALTER TABLE certificate_authority ADD CONSTRAINT certificate_authority_down_for
     CHECK (down_for IN ('new_orders', 'everything'))`,
  `COMMENT ON COLUMN certificate_authority.down_for IS 'new_orders: orders that it has accepted go on'`,
  `ALTER TABLE issuance ADD waits_for text array`,
  `COMMENT ON COLUMN issuance.waits_for IS 'names of CAs that are down'`,
  `CREATE INDEX issuance_waiting ON issuance (opened_at, id) WHERE state = 'open' AND waits_for IS NOT NULL`,
];

const down = [
  `DROP INDEX issuance_waiting`,
  `ALTER TABLE issuance DROP COLUMN waits_for`,
  `ALTER TABLE certificate_authority DROP COLUMN down_for`,
  `ALTER TABLE certificate_authority DROP COLUMN down_since`,
];
