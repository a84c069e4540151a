import type { MigrationInterface, QueryRunner } from 'typeorm';

/** After a restoration nothing is issued until the database was compared with what the CAs have issued. */
export class IssuanceHold1797030000000 implements MigrationInterface {
  readonly name = 'IssuanceHold1797030000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const column of ['timeline_seen_at', 'timeline', 'hold_reason', 'held_since'])
      await queryRunner.query(`ALTER TABLE deployment DROP COLUMN ${column}`);
  }
}

const up = [
  `ALTER TABLE deployment ADD held_since TIMESTAMP WITH TIME ZONE`,
  `ALTER TABLE deployment ADD hold_reason text`,
  `ALTER TABLE deployment ADD timeline text`,
  `ALTER TABLE deployment ADD timeline_seen_at TIMESTAMP WITH TIME ZONE`,
  `COMMENT ON COLUMN deployment.held_since IS 'since then no worker advances an issuance; null: not held'`,
  `COMMENT ON COLUMN deployment.timeline IS 'of the PostgreSQL server, 8 hexadecimal digits: a promotion and a restoration begin a new one'`,
  `COMMENT ON COLUMN deployment.timeline_seen_at IS 'when a worker last saw that timeline'`,
];
