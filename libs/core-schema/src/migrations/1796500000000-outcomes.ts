import type { MigrationInterface, QueryRunner } from 'typeorm';

const tables = ['acme_order', 'approval_record', 'certificate_authority', 'dns_integration'] as const;

/**
 * Outcomes beside their texts (see docs/decisions/0015-outcomes-are-data.md). The texts stay until no release reads them.
 * And a web server rule for every account with orders: from now on it is made with an account's first order, not by a GET.
 */
export class Outcomes1796500000000 implements MigrationInterface {
  readonly name = 'Outcomes1796500000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of tables) {
      await queryRunner.query(`ALTER TABLE ${table} ADD outcome jsonb`);
      await queryRunner.query(`COMMENT ON COLUMN ${table}.outcome IS 'counts only with the text of problem'`);
    }
    await queryRunner.query(rulesOfOrders);
  }

  /** Rules stay: web servers may redirect to them. */
  async down(queryRunner: QueryRunner): Promise<void> {
    for (const table of tables) await queryRunner.query(`ALTER TABLE ${table} DROP COLUMN outcome`);
  }
}

/** 160 random bits in base32: five of each of the last eight bytes of four UUIDs, all of which are random (RFC 9562, 5.4). */
const rulesOfOrders = `
  INSERT INTO web_rule (account_id, secret)
  SELECT account_id, string_agg(substr('abcdefghijklmnopqrstuvwxyz234567', 1 + (get_byte(bytes, position) & 31), 1), '')
  FROM (
    SELECT account_id, uuid_send(gen_random_uuid()) AS bytes
    FROM (SELECT DISTINCT account_id FROM order_v3) AS ordering CROSS JOIN generate_series(1, 4)) AS random
  CROSS JOIN generate_series(8, 15) AS position
  GROUP BY account_id
  ON CONFLICT DO NOTHING`;
