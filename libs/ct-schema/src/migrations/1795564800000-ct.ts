import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Logs and how far they are followed, issuers, issuances in the order of their discovery, and the index of their names. */
export class Ct1795564800000 implements MigrationInterface {
  readonly name = 'Ct1795564800000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `CREATE TABLE ct_log (
      id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
      log_id bytea NOT NULL,
      description text NOT NULL,
      operator text NOT NULL,
      kind text NOT NULL,
      url text NOT NULL,
      key_der bytea NOT NULL,
      mmd_s integer NOT NULL,
      interval_start TIMESTAMP WITH TIME ZONE,
      interval_end TIMESTAMP WITH TIME ZONE,
      list_state text NOT NULL,
      enabled boolean NOT NULL,
      stopped_at TIMESTAMP WITH TIME ZONE,
      stopped_reason text,
      start_index bigint NOT NULL DEFAULT '0',
      position bigint NOT NULL DEFAULT '0',
      tree_state bytea NOT NULL DEFAULT '\\x',
      head_size bigint NOT NULL DEFAULT '0',
      head_root bytea,
      head_at TIMESTAMP WITH TIME ZONE,
      head_signed bytea,
      verified_size bigint NOT NULL DEFAULT '0',
      entries_odd bigint NOT NULL DEFAULT '0',
      failures integer NOT NULL DEFAULT '0',
      last_error text,
      due_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      lease_token bigint NOT NULL DEFAULT '0',
      leased_until TIMESTAMP WITH TIME ZONE,
      ingested_at TIMESTAMP WITH TIME ZONE,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT ct_log_stopped CHECK ((stopped_at IS NULL) = (stopped_reason IS NULL)),
      CONSTRAINT ct_log_position CHECK (position >= start_index AND start_index >= 0),
      CONSTRAINT ct_log_log_id_length CHECK (octet_length(log_id) = 32),
      CONSTRAINT ct_log_kind CHECK (kind IN ('rfc6962', 'static')),
      CONSTRAINT ct_log_pkey PRIMARY KEY (id)
    )`,
  `CREATE UNIQUE INDEX ct_log_log_id ON ct_log (log_id)`,
  `CREATE INDEX ct_log_due ON ct_log (due_at) WHERE enabled AND stopped_at IS NULL`,
  `CREATE TABLE ct_odd_entry (
      log integer NOT NULL,
      entry_index bigint NOT NULL,
      fault text NOT NULL,
      leaf bytea NOT NULL,
      leaf_bytes integer NOT NULL,
      CONSTRAINT ct_odd_entry_pkey PRIMARY KEY (log, entry_index)
    )`,
  `CREATE TABLE ct_issuer (
      id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
      spki_sha256 bytea NOT NULL,
      name_sha256 bytea NOT NULL,
      name_der bytea NOT NULL,
      spki_der bytea,
      certificate_der bytea,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT ct_issuer_pkey PRIMARY KEY (id)
    )`,
  `CREATE UNIQUE INDEX ct_issuer_key_and_name ON ct_issuer (spki_sha256, name_sha256)`,
  // An insert of issuances locks this row until it commits: rows become visible in the order of their positions.
  `CREATE TABLE ct_sequence (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), next bigint NOT NULL)`,
  `INSERT INTO ct_sequence (next) VALUES (1)`,
  `CREATE TABLE ct_issuance (
      position bigint NOT NULL,
      tbs_sha256 bytea NOT NULL,
      cert_sha256 bytea NOT NULL,
      precertificate boolean NOT NULL,
      spki_sha256 bytea NOT NULL,
      issuer integer NOT NULL,
      serial bytea NOT NULL,
      not_before TIMESTAMP WITH TIME ZONE NOT NULL,
      not_after TIMESTAMP WITH TIME ZONE NOT NULL,
      discovered_at TIMESTAMP WITH TIME ZONE NOT NULL,
      dns_names text[] NOT NULL,
      body bytea NOT NULL,
      PRIMARY KEY (position)
    ) PARTITION BY RANGE (position)`,
  `COMMENT ON COLUMN ct_issuance.body IS 'the certificate if it is known, else the precertificate; its first octet says how it is packed'`, // language: comment of a stored column
  `CREATE TABLE ct_name (
      key bytea NOT NULL,
      position bigint NOT NULL,
      not_after TIMESTAMP WITH TIME ZONE NOT NULL
    ) PARTITION BY RANGE (position)`,
  `CREATE INDEX ct_name_key ON ct_name (key, position) INCLUDE (not_after)`,
  `CREATE TABLE ct_known (
      tbs_sha256 bytea NOT NULL,
      not_after TIMESTAMP WITH TIME ZONE NOT NULL,
      position bigint NOT NULL,
      PRIMARY KEY (tbs_sha256, not_after)
    ) PARTITION BY RANGE (not_after)`,
  `CREATE TABLE ct_known_other PARTITION OF ct_known DEFAULT`,
  `ALTER TABLE ct_odd_entry ADD CONSTRAINT ct_odd_entry_log FOREIGN KEY (log) REFERENCES ct_log (id)`,
];

const down = [
  `DROP TABLE ct_known`,
  `DROP TABLE ct_name`,
  `DROP TABLE ct_issuance`,
  `DROP TABLE ct_sequence`,
  `DROP TABLE ct_issuer`,
  `DROP TABLE ct_odd_entry`,
  `DROP TABLE ct_log`,
];
