import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What accounts monitor, which keys and certificates they know, and who changed it (docs/decisions/0016-monitored-domains.md). */
export class MonitoredDomains1796600000000 implements MigrationInterface {
  readonly name = 'MonitoredDomains1796600000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `ALTER TABLE account ADD max_monitored_domains integer NOT NULL DEFAULT '1000'`,
  `COMMENT ON COLUMN account.max_monitored_domains IS 'limit for new monitored domains; those over it stay'`,
  `CREATE TABLE monitored_domain (
      account_id bigint NOT NULL,
      name text COLLATE "C" NOT NULL,
      enabled boolean NOT NULL,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT monitored_domain_name CHECK (name ~ '^[.]?[a-z0-9_-]+([.][a-z0-9_-]+)*$' AND length(name) <= 254),
      CONSTRAINT "PK_monitored_domain" PRIMARY KEY (account_id, name)
    )`,
  `COMMENT ON COLUMN monitored_domain.name IS 'lower-case A-labels, no dot at the end; with a leading dot the domain and its whole sub-domain tree'`,
  `COMMENT ON COLUMN monitored_domain.enabled IS 'the most specific object of the account that matches a name decides by this'`,
  `CREATE TABLE known_key (
      id bigint NOT NULL,
      account_id bigint NOT NULL,
      spki_sha256 bytea NOT NULL,
      dns_names text array NOT NULL,
      dns_names_sha256 bytea NOT NULL,
      note text NOT NULL,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT known_key_dns_names CHECK (cardinality(dns_names) BETWEEN 1 AND 100),
      CONSTRAINT known_key_digests CHECK (octet_length(spki_sha256) = 32 AND octet_length(dns_names_sha256) = 32),
      CONSTRAINT known_key_id_is_a_json_number CHECK (id BETWEEN 1 AND 9007199254740991),
      CONSTRAINT "PK_known_key" PRIMARY KEY (id)
    )`,
  `COMMENT ON COLUMN known_key.id IS 'random 48-bit integer'`,
  `COMMENT ON COLUMN known_key.spki_sha256 IS 'SHA-256 over the DER SubjectPublicKeyInfo'`,
  `COMMENT ON COLUMN known_key.dns_names IS 'normal form, sorted'`,
  `COMMENT ON COLUMN known_key.dns_names_sha256 IS 'SHA-256 over dns_names, joined by line feeds'`,
  `CREATE UNIQUE INDEX known_key_of_account ON known_key (account_id, spki_sha256, dns_names_sha256)`,
  `CREATE INDEX known_key_page ON known_key (account_id, id)`,
  `CREATE TABLE known_cert (
      id bigint NOT NULL,
      account_id bigint NOT NULL,
      tbs_sha256 bytea NOT NULL,
      note text NOT NULL,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT known_cert_digest CHECK (octet_length(tbs_sha256) = 32),
      CONSTRAINT known_cert_id_is_a_json_number CHECK (id BETWEEN 1 AND 9007199254740991),
      CONSTRAINT "PK_known_cert" PRIMARY KEY (id)
    )`,
  `COMMENT ON COLUMN known_cert.id IS 'random 48-bit integer'`,
  `COMMENT ON COLUMN known_cert.tbs_sha256 IS 'SHA-256 over the DER TBSCertificate without poison and SCT list'`,
  `CREATE UNIQUE INDEX known_cert_of_account ON known_cert (account_id, tbs_sha256)`,
  `CREATE INDEX known_cert_page ON known_cert (account_id, id)`,
  `CREATE TABLE monitoring_settings (
      account_id bigint NOT NULL,
      authorized_cas text array NOT NULL,
      alert_delay_minutes integer NOT NULL,
      certificate_mail text NOT NULL,
      endpoint_mail text NOT NULL,
      digest_hour_utc integer NOT NULL,
      heartbeat text NOT NULL,
      CONSTRAINT monitoring_settings_heartbeat CHECK (heartbeat IN ('weekly', 'off')),
      CONSTRAINT monitoring_settings_mail CHECK (certificate_mail IN ('at_once', 'digest', 'off') AND endpoint_mail IN ('at_once', 'digest', 'off')),
      CONSTRAINT monitoring_settings_digest_hour CHECK (digest_hour_utc BETWEEN 0 AND 23),
      CONSTRAINT monitoring_settings_alert_delay CHECK (alert_delay_minutes BETWEEN 0 AND 60),
      CONSTRAINT "PK_monitoring_settings" PRIMARY KEY (account_id)
    )`,
  `COMMENT ON COLUMN monitoring_settings.authorized_cas IS 'issuer domain names of CAA records, sorted'`,
  `CREATE TABLE monitoring_change (
      id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
      transaction_id bigint NOT NULL,
      account_id bigint NOT NULL,
      api_key_id bigint,
      object text NOT NULL,
      name text NOT NULL,
      action text NOT NULL,
      before jsonb,
      after jsonb,
      changed_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT monitoring_change_values CHECK ((action = 'created') = (before IS NULL) AND (action = 'deleted') = (after IS NULL)),
      CONSTRAINT monitoring_change_action CHECK (action IN ('created', 'enabled', 'disabled', 'changed', 'deleted')),
      CONSTRAINT monitoring_change_object CHECK (object IN ('monitored_domain', 'known_key', 'known_cert', 'settings', 'limit')),
      CONSTRAINT "PK_monitoring_change" PRIMARY KEY (id)
    )`,
  `COMMENT ON COLUMN monitoring_change.transaction_id IS 'pg_current_xact_id() of the change. A reader applies every row after its cursor (transaction_id, id), and moves the cursor only over rows below pg_snapshot_xmin(pg_current_snapshot())'`,
  `COMMENT ON COLUMN monitoring_change.api_key_id IS 'null: the operator'`,
  `COMMENT ON COLUMN monitoring_change.name IS 'name of a monitored domain, id of a known key or known certificate; empty otherwise'`,
  `COMMENT ON COLUMN monitoring_change.before IS 'members of the object before the change; null: there was none'`,
  `COMMENT ON COLUMN monitoring_change.after IS 'members of the object after the change; null: it was deleted'`,
  `CREATE INDEX monitoring_change_account ON monitoring_change (account_id, id)`,
  `CREATE INDEX monitoring_change_order ON monitoring_change (transaction_id, id)`,
  `ALTER TABLE monitored_domain ADD CONSTRAINT "FK_99129ad19200c1d4f4557dbdb10" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE known_key ADD CONSTRAINT "FK_beff5a14ae93756ca355288a150" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE known_cert ADD CONSTRAINT "FK_4c84cf68f5ae89bc8f31ab4d70d" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE monitoring_settings ADD CONSTRAINT "FK_66b366e191ac1212b1d784a5409" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE monitoring_change ADD CONSTRAINT "FK_163bf9c6cc9d46f85a6193199dd" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE monitoring_change ADD CONSTRAINT "FK_a6152e0d353eca835416227b12a" FOREIGN KEY (api_key_id) REFERENCES api_key(id)`,
];

const down = [
  `DROP TABLE monitoring_change`,
  `DROP TABLE monitoring_settings`,
  `DROP TABLE known_cert`,
  `DROP TABLE known_key`,
  `DROP TABLE monitored_domain`,
  `ALTER TABLE account DROP COLUMN max_monitored_domains`,
];
