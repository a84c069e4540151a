import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How long a CA denies our account, and which revocations it has not carried out, with the next attempt. */
export class CaRefusals1797220000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE revocation_attempt`);
    for (const column of ['denied_at', 'denied_since'])
      await queryRunner.query(`ALTER TABLE ca_account DROP COLUMN ${column}`);
  }
}

const up = [
  `ALTER TABLE ca_account ADD denied_since TIMESTAMP WITH TIME ZONE`,
  `ALTER TABLE ca_account ADD denied_at TIMESTAMP WITH TIME ZONE`,
  `COMMENT ON COLUMN ca_account.denied_since IS 'since then the CA has responded that the account does not exist; null: it knows it'`,
  `COMMENT ON COLUMN ca_account.denied_at IS 'when it last did'`,
  `CREATE TABLE revocation_attempt (
      certificate_id bigint NOT NULL,
      failures integer NOT NULL,
      due_at TIMESTAMP WITH TIME ZONE NOT NULL,
      refused boolean NOT NULL,
      problem text NOT NULL,
      outcome jsonb NOT NULL,
      since TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT "PK_revocation_attempt" PRIMARY KEY (certificate_id)
    )`,
  `COMMENT ON COLUMN revocation_attempt.failures IS 'failures in a row'`,
  `COMMENT ON COLUMN revocation_attempt.refused IS 'the CA responded with a refusal; false: it was unavailable'`,
  `COMMENT ON COLUMN revocation_attempt.since IS 'the first of them'`,
  `ALTER TABLE revocation_attempt ADD CONSTRAINT "FK_e1922c931381b8e3847d8e45b29" FOREIGN KEY (certificate_id) REFERENCES certificate(id)`,
];
