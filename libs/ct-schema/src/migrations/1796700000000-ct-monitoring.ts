import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Texts in certificates that are not names, and the names that accounts monitor. */
export class CtMonitoring1796700000000 implements MigrationInterface {
  readonly name = 'CtMonitoring1796700000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `ALTER TABLE ct_issuance ADD COLUMN odd_names text[]`,
  `COMMENT ON COLUMN ct_issuance.odd_names IS 'texts in place of names that are not names and may contain some; null: none'`,
  `CREATE TABLE ct_watched_name (name text COLLATE "C" NOT NULL, CONSTRAINT ct_watched_name_pkey PRIMARY KEY (name))`,
  `COMMENT ON TABLE ct_watched_name IS 'enabled monitored domains of all accounts; a leading dot: the whole tree'`,
  // Readers poll this row, and read the names when it has changed.
  `CREATE TABLE ct_watched_version (
      only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
      version bigint NOT NULL
    )`,
  `INSERT INTO ct_watched_version (version) VALUES (0)`,
];

const down = [
  `DROP TABLE ct_watched_version`,
  `DROP TABLE ct_watched_name`,
  `ALTER TABLE ct_issuance DROP COLUMN odd_names`,
];
