import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What an order lives through: renewal, revocation, notices, webhooks, approval by web server rule and by email. */
export class OrderLife1795219200000 implements MigrationInterface {
  readonly name = 'OrderLife1795219200000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `CREATE TABLE email_approval (
      id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
      account_id bigint NOT NULL,
      plan_id bigint NOT NULL,
      dns_name text COLLATE "C" NOT NULL,
      address text NOT NULL,
      asked_at TIMESTAMP WITH TIME ZONE,
      asked_again boolean NOT NULL DEFAULT false,
      approved_at TIMESTAMP WITH TIME ZONE,
      CONSTRAINT "PK_f8c5fac60c5a95176c9208ecce2" PRIMARY KEY (id)
    )`,
  `COMMENT ON COLUMN email_approval.asked_at IS 'when the newest mail was ordered'`,
  `COMMENT ON COLUMN email_approval.asked_again IS 'the caller wants another mail'`,
  `CREATE UNIQUE INDEX email_approval_of_name ON email_approval (plan_id, dns_name, address)`,
  `CREATE TABLE email_approval_token (
      sha256 bytea NOT NULL,
      approval_id bigint NOT NULL,
      expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
      used_at TIMESTAMP WITH TIME ZONE,
      CONSTRAINT email_approval_token_length CHECK (octet_length(sha256) = 32),
      CONSTRAINT "PK_13fed08aed9f5a193c183156616" PRIMARY KEY (sha256)
    )`,
  `COMMENT ON COLUMN email_approval_token.sha256 IS 'SHA-256 over the token as written in the link'`,
  `CREATE INDEX email_approval_token_approval ON email_approval_token (approval_id)`,
  `CREATE INDEX email_approval_token_expires ON email_approval_token (expires_at)`,
  `CREATE TABLE mail (
      id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
      account_id bigint NOT NULL,
      kind text NOT NULL,
      recipient text NOT NULL,
      facts jsonb NOT NULL,
      state text NOT NULL,
      attempts integer NOT NULL DEFAULT '0',
      due_at TIMESTAMP WITH TIME ZONE NOT NULL,
      lease_token bigint NOT NULL DEFAULT '0',
      leased_until TIMESTAMP WITH TIME ZONE,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      finished_at TIMESTAMP WITH TIME ZONE,
      CONSTRAINT mail_finished_when_not_pending CHECK ((state = 'pending') = (finished_at IS NULL)),
      CONSTRAINT mail_state CHECK (state IN ('pending', 'sent', 'failed', 'canceled')),
      CONSTRAINT "PK_5407da42b983ba54c6c62d462d3" PRIMARY KEY (id)
    )`,
  `COMMENT ON COLUMN mail.lease_token IS 'fencing token'`,
  `COMMENT ON COLUMN mail.leased_until IS 'by the clock of the database'`,
  `CREATE INDEX mail_recipient ON mail (recipient, created_at)`,
  `CREATE INDEX mail_finished ON mail (finished_at) WHERE state <> 'pending'`,
  `CREATE INDEX mail_due ON mail (due_at) WHERE state = 'pending'`,
  `CREATE TABLE expiration_notice (
      certificate_id bigint NOT NULL,
      threshold_days integer NOT NULL,
      noticed_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT expiration_notice_threshold CHECK (threshold_days IN (30, 14, 7, 3, 1)),
      CONSTRAINT "PK_86d80a7f99219a7dac53d34826a" PRIMARY KEY (certificate_id, threshold_days)
    )`,
  `CREATE TABLE http_challenge (
      token text COLLATE "C" NOT NULL,
      account_id bigint NOT NULL,
      dns_name text COLLATE "C" NOT NULL,
      content text NOT NULL,
      expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_7673988d11d1e0bc69237e8be7a" PRIMARY KEY (token)
    )`,
  `COMMENT ON COLUMN http_challenge.token IS 'base64url, at least 128 random bits'`,
  `CREATE INDEX http_challenge_expires ON http_challenge (expires_at)`,
  `CREATE UNIQUE INDEX http_challenge_of_name ON http_challenge (account_id, dns_name)`,
  `CREATE TABLE web_rule (
      account_id bigint NOT NULL,
      secret text COLLATE "C" NOT NULL,
      CONSTRAINT web_rule_secret_length CHECK (char_length(secret) >= 26),
      CONSTRAINT "PK_24c3bf6c30f6427725bfc7089e4" PRIMARY KEY (account_id)
    )`,
  `COMMENT ON COLUMN web_rule.secret IS '160 random bits, base32, lower case'`,
  `CREATE UNIQUE INDEX web_rule_secret ON web_rule (secret)`,
  `CREATE TABLE webhook_endpoint (
      id bigint NOT NULL,
      account_id bigint NOT NULL,
      url text NOT NULL,
      credentials_sealed bytea,
      secret_sealed bytea NOT NULL,
      previous_secret_sealed bytea,
      previous_secret_until TIMESTAMP WITH TIME ZONE,
      description text NOT NULL,
      enabled boolean NOT NULL,
      disabled_reason text,
      failing_since TIMESTAMP WITH TIME ZONE,
      failed_at TIMESTAMP WITH TIME ZONE,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT webhook_endpoint_previous_secret CHECK ((previous_secret_sealed IS NULL) = (previous_secret_until IS NULL)),
      CONSTRAINT webhook_endpoint_id_is_a_json_number CHECK (id BETWEEN 1 AND 9007199254740991),
      CONSTRAINT "PK_6c98112122b2b8a4f3984d2efa8" PRIMARY KEY (id)
    )`,
  `COMMENT ON COLUMN webhook_endpoint.id IS 'random 48-bit integer'`,
  `COMMENT ON COLUMN webhook_endpoint.credentials_sealed IS 'sealed "user:password" for Basic authentication'`,
  `COMMENT ON COLUMN webhook_endpoint.failing_since IS 'first failed try since the last success'`,
  `COMMENT ON COLUMN webhook_endpoint.failed_at IS 'newest failed try since the last success'`,
  `COMMENT ON COLUMN webhook_endpoint.secret_sealed IS 'sealed signing secret (Standard Webhooks)'`,
  `CREATE INDEX webhook_endpoint_account ON webhook_endpoint (account_id)`,
  `CREATE TABLE webhook_delivery (
      id text COLLATE "C" NOT NULL,
      account_id bigint NOT NULL,
      endpoint_id bigint NOT NULL,
      plan_id bigint,
      version integer NOT NULL,
      replay_of text COLLATE "C" NOT NULL DEFAULT '',
      event text NOT NULL,
      body text NOT NULL,
      state text NOT NULL,
      attempts integer NOT NULL DEFAULT '0',
      due_at TIMESTAMP WITH TIME ZONE NOT NULL,
      lease_token bigint NOT NULL DEFAULT '0',
      leased_until TIMESTAMP WITH TIME ZONE,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      finished_at TIMESTAMP WITH TIME ZONE,
      CONSTRAINT webhook_delivery_finished_when_not_pending CHECK ((state = 'pending') = (finished_at IS NULL)),
      CONSTRAINT webhook_delivery_state CHECK (state IN ('pending', 'delivered', 'failed', 'superseded', 'canceled')),
      CONSTRAINT "PK_b1ae290239a778f12399db91354" PRIMARY KEY (id)
    )`,
  `COMMENT ON COLUMN webhook_delivery.id IS 'msg_ and 160 random bits, base64url'`,
  `COMMENT ON COLUMN webhook_delivery.version IS 'the plan’s current_version that it tells of; 0 for a test event'`,
  `COMMENT ON COLUMN webhook_delivery.lease_token IS 'fencing token'`,
  `COMMENT ON COLUMN webhook_delivery.leased_until IS 'by the clock of the database'`,
  `CREATE INDEX webhook_delivery_pending_of_plan ON webhook_delivery (plan_id) WHERE state = 'pending'`,
  `CREATE UNIQUE INDEX webhook_delivery_once ON webhook_delivery (endpoint_id, plan_id, version, replay_of)`,
  `CREATE INDEX webhook_delivery_endpoint ON webhook_delivery (endpoint_id, created_at)`,
  `CREATE INDEX webhook_delivery_finished ON webhook_delivery (finished_at) WHERE state <> 'pending'`,
  `CREATE INDEX webhook_delivery_in_flight ON webhook_delivery (endpoint_id) WHERE leased_until IS NOT NULL`,
  `CREATE INDEX webhook_delivery_due ON webhook_delivery (due_at) WHERE state = 'pending'`,
  `CREATE INDEX webhook_delivery_pending_of_endpoint ON webhook_delivery (endpoint_id, due_at) WHERE state = 'pending'`,
  `CREATE TABLE webhook_attempt (
      id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
      delivery_id text COLLATE "C" NOT NULL,
      started_at TIMESTAMP WITH TIME ZONE NOT NULL,
      duration_ms integer NOT NULL,
      status integer,
      problem text,
      CONSTRAINT "PK_e4ff77b66cdd20591ba6189a1f9" PRIMARY KEY (id)
    )`,
  `CREATE INDEX webhook_attempt_delivery ON webhook_attempt (delivery_id, id)`,
  `ALTER TABLE issuance ADD hastened boolean NOT NULL DEFAULT false`, // language: a column
  `COMMENT ON COLUMN issuance.hastened IS 'requested again while it was leased'`, // language: a column
  `ALTER TABLE plan ADD current_version integer NOT NULL DEFAULT '0'`,
  `ALTER TABLE plan ADD announced_version integer NOT NULL DEFAULT '0'`,
  `ALTER TABLE plan ADD renew_at TIMESTAMP WITH TIME ZONE`,
  `ALTER TABLE certificate ADD ca_reference text`,
  `ALTER TABLE certificate ADD ca_revoked_at TIMESTAMP WITH TIME ZONE`,
  // What was issued before renewal and revocation were known.
  `UPDATE certificate SET ca_reference = issuance.ca_reference FROM issuance WHERE issuance.id = certificate.issuance_id`,
  `UPDATE plan SET renew_at = not_after - (not_after - not_before) / 3
    FROM certificate WHERE certificate.plan_id = plan.id AND is_current`,
  `ALTER TABLE blocked_key ADD account_id bigint NOT NULL DEFAULT '0'`,
  `COMMENT ON COLUMN blocked_key.account_id IS '0: blocked for everybody'`,
  `ALTER TABLE blocked_key DROP CONSTRAINT "PK_b4c8327f3ec19bbf40a85a0b88f",
    ADD CONSTRAINT "PK_4cd835162ef145aad9de6d01ed3" PRIMARY KEY (spki_sha256, account_id)`,
  `COMMENT ON COLUMN ca_issuer.crl_made_at IS 'null: a revocation is not on the list yet'`,
  `CREATE INDEX issuance_due_of_account ON issuance (account_id, due_at) WHERE state = 'open'`,
  `CREATE INDEX plan_renewal_of_account ON plan (account_id, renew_at) WHERE auto_renew AND NOT paused AND closed_at IS NULL`,
  `CREATE INDEX plan_renewal ON plan (renew_at) WHERE auto_renew AND NOT paused AND closed_at IS NULL`,
  `CREATE INDEX plan_unannounced ON plan (account_id, id) WHERE current_version > announced_version`,
  `CREATE INDEX certificate_to_revoke ON certificate (revoked_at) WHERE revoked_at IS NOT NULL AND ca_revoked_at IS NULL`,
  `ALTER TABLE email_approval ADD CONSTRAINT "FK_f92c5508f70674d00a7c5aea841" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE email_approval ADD CONSTRAINT "FK_ccd84b4790220f05b8596dbb92a" FOREIGN KEY (plan_id) REFERENCES plan(id)`,
  `ALTER TABLE email_approval_token ADD CONSTRAINT "FK_a8d50bb25c2338a2a85253a6eaf" FOREIGN KEY (approval_id) REFERENCES email_approval(id)`,
  `ALTER TABLE mail ADD CONSTRAINT "FK_b5dd7c9332919b90763f84a6b17" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE expiration_notice ADD CONSTRAINT "FK_7bd2d5de6bd40435033cac7bbcf" FOREIGN KEY (certificate_id) REFERENCES certificate(id)`,
  `ALTER TABLE http_challenge ADD CONSTRAINT "FK_f9ff472c2e50d5bd9a478d680b8" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE web_rule ADD CONSTRAINT "FK_24c3bf6c30f6427725bfc7089e4" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE webhook_endpoint ADD CONSTRAINT "FK_5c628be8d5dd39a6a614a626c2b" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE webhook_delivery ADD CONSTRAINT "FK_eb7ca57c35189d3d49b36250dd5" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE webhook_delivery ADD CONSTRAINT "FK_f53f5aec02217a54927b13e39d9" FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoint(id) ON DELETE CASCADE`,
  `ALTER TABLE webhook_delivery ADD CONSTRAINT "FK_c0e8e0e6cade10a6b8bc1185489" FOREIGN KEY (plan_id) REFERENCES plan(id)`,
  `ALTER TABLE webhook_attempt ADD CONSTRAINT "FK_d7ed48c4841159bfd6bdee166ea" FOREIGN KEY (delivery_id) REFERENCES webhook_delivery(id) ON DELETE CASCADE`,
];

/** Children before parents. */
const down = [
  `DROP INDEX certificate_to_revoke`,
  `DROP INDEX plan_renewal_of_account`,
  `DROP INDEX issuance_due_of_account`,
  `COMMENT ON COLUMN ca_issuer.crl_made_at IS NULL`,
  `DELETE FROM blocked_key WHERE account_id <> 0`,
  `ALTER TABLE blocked_key DROP CONSTRAINT "PK_4cd835162ef145aad9de6d01ed3",
    ADD CONSTRAINT "PK_b4c8327f3ec19bbf40a85a0b88f" PRIMARY KEY (spki_sha256)`,
  `ALTER TABLE blocked_key DROP COLUMN account_id`,
  `DROP INDEX plan_unannounced`,
  `DROP INDEX plan_renewal`,
  `ALTER TABLE certificate DROP COLUMN ca_reference, DROP COLUMN ca_revoked_at`,
  `ALTER TABLE issuance DROP COLUMN hastened`, // language: a column
  `ALTER TABLE plan DROP COLUMN current_version, DROP COLUMN announced_version, DROP COLUMN renew_at`,
  `DROP TABLE webhook_attempt`,
  `DROP TABLE webhook_delivery`,
  `DROP TABLE webhook_endpoint`,
  `DROP TABLE http_challenge`,
  `DROP TABLE web_rule`,
  `DROP TABLE email_approval_token`,
  `DROP TABLE email_approval`,
  `DROP TABLE expiration_notice`,
  `DROP TABLE mail`,
];
