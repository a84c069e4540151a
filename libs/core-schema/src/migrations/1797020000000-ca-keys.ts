import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The built-in CA has several intermediates, one after the other, and their keys may be in the database. */
export class CaKeys1797020000000 implements MigrationInterface {
  readonly name = 'CaKeys1797020000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `ALTER TABLE ca_issuer DROP CONSTRAINT ca_issuer_name`,
  `ALTER TABLE ca_issuer ADD CONSTRAINT ca_issuer_name CHECK (name ~ '^(root|intermediate)(-[1-9][0-9]{0,5})?$')`,
  `COMMENT ON COLUMN ca_issuer.name IS 'as in the URLs of its certificate and revocation list'`,
  `ALTER TABLE ca_issuer ADD activated_at TIMESTAMP WITH TIME ZONE DEFAULT now()`,
  `ALTER TABLE ca_issuer ADD retired_at TIMESTAMP WITH TIME ZONE`,
  `COMMENT ON COLUMN ca_issuer.activated_at IS 'intermediates: the last one issues; null: it has not issued yet'`,
  `COMMENT ON COLUMN ca_issuer.retired_at IS 'intermediates: workers no longer need its key, since every certificate of it has expired'`,
  `ALTER TABLE ca_signing ADD issuer text NOT NULL DEFAULT 'intermediate'`,
  `COMMENT ON COLUMN ca_signing.issuer IS 'ca_issuer.name of the intermediate that signs'`,
  `CREATE TABLE ca_key (
      name text NOT NULL,
      sealed bytea NOT NULL,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT ca_key_name CHECK (name ~ '^intermediate(-[1-9][0-9]{0,5})?$'),
      CONSTRAINT "PK_ca_key" PRIMARY KEY (name)
    )`,
  `COMMENT ON COLUMN ca_key.name IS 'of the intermediate, which may have no certificate yet'`,
  `COMMENT ON COLUMN ca_key.sealed IS 'PKCS#8 PEM, sealed'`,
];

const down = [
  `DROP TABLE ca_key`,
  `ALTER TABLE ca_signing DROP COLUMN issuer`,
  `ALTER TABLE ca_issuer DROP COLUMN retired_at`,
  `ALTER TABLE ca_issuer DROP COLUMN activated_at`,
  `COMMENT ON COLUMN ca_issuer.name IS NULL`,
  `ALTER TABLE ca_issuer DROP CONSTRAINT ca_issuer_name`,
  // Fails after a renewal: an older schema has no place for a second intermediate.
  `ALTER TABLE ca_issuer ADD CONSTRAINT ca_issuer_name CHECK (name IN ('root', 'intermediate'))`,
];
