import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Public CAs that speak ACME: who they are, our accounts there, orders, challenges, limits, and when they want renewals. */
export class Acme1795392000000 implements MigrationInterface {
  readonly name = 'Acme1795392000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `CREATE TABLE certificate_authority (
      name text NOT NULL,
      directory_url text NOT NULL,
      allowed_hosts text array NOT NULL DEFAULT '{}',
      tls_roots text,
      trusted_roots bytea array NOT NULL DEFAULT '{}',
      preferred_root text,
      contacts text array NOT NULL DEFAULT '{}',
      eab_key_id text,
      eab_hmac_sealed bytea,
      caa_domains text array NOT NULL DEFAULT '{}',
      limits jsonb NOT NULL DEFAULT '{}',
      enabled boolean NOT NULL DEFAULT true,
      down_until TIMESTAMP WITH TIME ZONE,
      problem text,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT certificate_authority_eab CHECK ((eab_key_id IS NULL) = (eab_hmac_sealed IS NULL)),
      CONSTRAINT certificate_authority_directory CHECK (directory_url LIKE 'https://%'),
      CONSTRAINT certificate_authority_name CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,62}$' AND name <> 'built-in'),
      CONSTRAINT "PK_501aa7b4eb45e1783d882aa2f36" PRIMARY KEY (name)
    )`,
  `COMMENT ON COLUMN certificate_authority.allowed_hosts IS 'host or host:port'`,
  `COMMENT ON COLUMN certificate_authority.trusted_roots IS 'DER'`,
  `COMMENT ON COLUMN certificate_authority.contacts IS 'mailto: URLs'`,
  `COMMENT ON COLUMN certificate_authority.eab_hmac_sealed IS 'sealed external account binding key'`,
  `COMMENT ON COLUMN certificate_authority.problem IS 'why it is down'`,
  `CREATE TABLE ca_account (
      id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
      authority text NOT NULL,
      state text NOT NULL,
      account_url text,
      key_sealed bytea NOT NULL,
      next_key_sealed bytea,
      rollover_due_at TIMESTAMP WITH TIME ZONE,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT ca_account_rollover CHECK (next_key_sealed IS NULL OR rollover_due_at IS NOT NULL),
      CONSTRAINT ca_account_url_when_valid CHECK (state <> 'valid' OR account_url IS NOT NULL),
      CONSTRAINT ca_account_state CHECK (state IN ('new', 'valid', 'ended')),
      CONSTRAINT "PK_a4f2ba1593683ec72c6f0efa131" PRIMARY KEY (id)
    )`,
  `COMMENT ON COLUMN ca_account.key_sealed IS 'sealed PKCS#8'`,
  `COMMENT ON COLUMN ca_account.next_key_sealed IS 'sealed PKCS#8'`,
  `COMMENT ON COLUMN ca_account.rollover_due_at IS 'when the change of key is gone on with; null: none is wanted'`,
  `CREATE UNIQUE INDEX ca_account_of_authority ON ca_account (authority) WHERE state <> 'ended'`,
  `CREATE TABLE acme_order (
      id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
      issuance_id bigint NOT NULL,
      authority text NOT NULL,
      ca_account_id bigint NOT NULL,
      profile text,
      state text NOT NULL,
      order_url text,
      certificate_url text,
      challenges jsonb NOT NULL DEFAULT '[]',
      replaces text,
      finalized_at TIMESTAMP WITH TIME ZONE,
      problem text,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      closed_at TIMESTAMP WITH TIME ZONE,
      CONSTRAINT acme_order_url_when_open CHECK (state = 'wanted' OR state = 'failed' OR order_url IS NOT NULL),
      CONSTRAINT acme_order_state CHECK (state IN ('wanted', 'open', 'issued', 'failed')),
      CONSTRAINT "PK_0cfbc1f7ec8a89996640136b9d0" PRIMARY KEY (id)
    )`,
  `COMMENT ON COLUMN acme_order.replaces IS 'ARI identifier (RFC 9773) of the certificate that it replaces'`,
  `COMMENT ON COLUMN acme_order.finalized_at IS 'before the request to the CA to issue'`,
  `COMMENT ON COLUMN acme_order.problem IS 'why it failed, in words for the caller'`,
  `CREATE INDEX acme_order_issuance ON acme_order (issuance_id, id)`,
  `CREATE UNIQUE INDEX acme_order_one_per_issuance ON acme_order (issuance_id) WHERE state <> 'failed'`,
  `CREATE UNIQUE INDEX acme_order_one_per_url ON acme_order (order_url) WHERE state <> 'failed'`,
  `CREATE TABLE renewal_info (
      certificate_id bigint NOT NULL,
      authority text NOT NULL,
      ari_id text NOT NULL,
      window_start TIMESTAMP WITH TIME ZONE,
      window_end TIMESTAMP WITH TIME ZONE,
      explanation_url text,
      due_at TIMESTAMP WITH TIME ZONE NOT NULL,
      failures integer NOT NULL DEFAULT '0',
      CONSTRAINT "PK_1f6bba1fd8d2605136625e15a59" PRIMARY KEY (certificate_id)
    )`,
  `COMMENT ON COLUMN renewal_info.ari_id IS 'base64url(AKI) . base64url(serial), section 4.1'`,
  `COMMENT ON COLUMN renewal_info.failures IS 'failures in a row'`,
  `CREATE INDEX renewal_info_due ON renewal_info (due_at)`,
  `CREATE TABLE ca_limit_bucket (
      ca_account_id bigint NOT NULL,
      kind text NOT NULL,
      key text COLLATE "C" NOT NULL,
      spent double precision NOT NULL,
      at TIMESTAMP WITH TIME ZONE NOT NULL,
      spent_until TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT ca_limit_bucket_spent CHECK (spent >= 0),
      CONSTRAINT ca_limit_bucket_kind CHECK (
        kind IN ('newOrders', 'perRegisteredDomain', 'perNameSet', 'failedAuthorizations', 'shareOfNewOrders')),
      CONSTRAINT "PK_12b49e4b87030308cf6b50b556c" PRIMARY KEY (ca_account_id, kind, key)
    )`,
  `COMMENT ON COLUMN ca_limit_bucket.spent IS 'tokens; more than the limit has: the CA itself said to wait'`,
  `COMMENT ON COLUMN ca_limit_bucket.at IS 'as of when'`,
  `COMMENT ON COLUMN ca_limit_bucket.spent_until IS 'when nothing is spent any more, unless more is taken'`,
  `CREATE INDEX ca_limit_bucket_spent_until ON ca_limit_bucket (spent_until)`,
  `CREATE TABLE challenge_file (
      token text COLLATE "C" NOT NULL,
      account_id bigint NOT NULL,
      dns_name text COLLATE "C" NOT NULL,
      content text NOT NULL,
      expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
      CONSTRAINT "PK_b485612497f294445911ad38518" PRIMARY KEY (token, account_id)
    )`,
  `COMMENT ON COLUMN challenge_file.token IS 'chosen by the CA, base64url'`,
  `COMMENT ON COLUMN challenge_file.content IS 'key authorization (RFC 8555, 8.1)'`,
  `CREATE INDEX challenge_file_expires ON challenge_file (expires_at)`,
  `CREATE TABLE challenge_record (
      label text COLLATE "C" NOT NULL,
      value text COLLATE "C" NOT NULL,
      account_id bigint NOT NULL,
      dns_name text COLLATE "C" NOT NULL,
      expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
      integration_id bigint,
      attempted_at TIMESTAMP WITH TIME ZONE,
      record_handle text,
      CONSTRAINT challenge_record_handle_after_attempt CHECK (record_handle IS NULL OR attempted_at IS NOT NULL),
      CONSTRAINT challenge_record_added_by CHECK (
        integration_id IS NOT NULL OR (attempted_at IS NULL AND record_handle IS NULL)),
      CONSTRAINT challenge_record_value CHECK (value ~ '^[A-Za-z0-9_-]{43}$'),
      CONSTRAINT "PK_767ed004b11673496ae94e0260a" PRIMARY KEY (label, value)
    )`,
  `COMMENT ON COLUMN challenge_record.value IS 'base64url SHA-256 of the key authorization (RFC 8555, 8.4)'`,
  `COMMENT ON COLUMN challenge_record.attempted_at IS 'last, to add or to remove'`,
  `COMMENT ON COLUMN challenge_record.record_handle IS 'sealed by the gateway'`,
  `CREATE INDEX challenge_record_expires ON challenge_record (expires_at)`,
  `CREATE INDEX challenge_record_hosted ON challenge_record (integration_id) WHERE integration_id IS NOT NULL`,
  `ALTER TABLE product ADD authorities jsonb NOT NULL DEFAULT '[]'`,
  `COMMENT ON COLUMN product.authorities IS 'in order of preference; empty: certificate_authority alone'`,
  `ALTER TABLE product ADD http_approval boolean NOT NULL DEFAULT true`,
  `ALTER TABLE product ADD rsa_sizes integer array NOT NULL DEFAULT '{2048,3072,4096}'`,
  `COMMENT ON COLUMN product.rsa_sizes IS 'bits'`,
  `ALTER TABLE product ADD curves text array NOT NULL DEFAULT '{P-256,P-384}'`,
  `ALTER TABLE product ADD price_cents integer NOT NULL DEFAULT '0'`,
  `COMMENT ON COLUMN product.price_cents IS 'per certificate; hundredths of the currency'`,
  `ALTER TABLE product ADD currency text NOT NULL DEFAULT 'USD'`,
  `COMMENT ON COLUMN product.currency IS 'ISO 4217'`,
  `ALTER TABLE delegation ADD retired_at TIMESTAMP WITH TIME ZONE`,
  `CREATE INDEX delegation_of_name ON delegation (dns_name) WHERE retired_at IS NULL`,
  `ALTER TABLE product ADD CONSTRAINT product_price CHECK (price_cents >= 0 AND currency ~ '^[A-Z]{3}$')`,
  `ALTER TABLE ca_account ADD CONSTRAINT "FK_d9f7e889fbd8b2447ab405d17a9" FOREIGN KEY (authority) REFERENCES certificate_authority(name)`,
  `ALTER TABLE acme_order ADD CONSTRAINT "FK_7ea7f9a21de79d885a60d296513" FOREIGN KEY (issuance_id) REFERENCES issuance(id)`,
  `ALTER TABLE acme_order ADD CONSTRAINT "FK_a9329d537cc2661b79fab744c3d" FOREIGN KEY (authority) REFERENCES certificate_authority(name)`,
  `ALTER TABLE acme_order ADD CONSTRAINT "FK_3475bed7c93408ca85b4af028e6" FOREIGN KEY (ca_account_id) REFERENCES ca_account(id)`,
  `ALTER TABLE renewal_info ADD CONSTRAINT "FK_1f6bba1fd8d2605136625e15a59" FOREIGN KEY (certificate_id) REFERENCES certificate(id)`,
  `ALTER TABLE renewal_info ADD CONSTRAINT "FK_cd3c9b407777ad7d471b95919dc" FOREIGN KEY (authority) REFERENCES certificate_authority(name)`,
  `ALTER TABLE ca_limit_bucket ADD CONSTRAINT "FK_4e4e7ef663c1269ec1ac1111600" FOREIGN KEY (ca_account_id) REFERENCES ca_account(id)`,
  `ALTER TABLE challenge_file ADD CONSTRAINT "FK_4672e7ab39aab962962ec0af709" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE challenge_record ADD CONSTRAINT "FK_1b2defff6234f30a14fd114cbd7" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE challenge_record ADD CONSTRAINT "FK_01956b6ee457009348077e4cb96" FOREIGN KEY (integration_id) REFERENCES dns_integration(id)`,
];

/** Children before parents. */
const down = [
  `ALTER TABLE delegation DROP COLUMN retired_at`,
  `ALTER TABLE product DROP CONSTRAINT product_price`,
  `ALTER TABLE product DROP COLUMN currency`,
  `ALTER TABLE product DROP COLUMN price_cents`,
  `ALTER TABLE product DROP COLUMN curves`,
  `ALTER TABLE product DROP COLUMN rsa_sizes`,
  `ALTER TABLE product DROP COLUMN http_approval`,
  `ALTER TABLE product DROP COLUMN authorities`,
  `DROP TABLE challenge_record`,
  `DROP TABLE challenge_file`,
  `DROP TABLE ca_limit_bucket`,
  `DROP TABLE renewal_info`,
  `DROP TABLE acme_order`,
  `DROP TABLE ca_account`,
  `DROP TABLE certificate_authority`,
];
