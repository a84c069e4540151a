import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Customers' DNS providers, and the approval records that are published through them. */
export class DnsIntegrations1795305600000 implements MigrationInterface {
  readonly name = 'DnsIntegrations1795305600000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `CREATE TABLE dns_integration (
      id bigint NOT NULL,
      account_id bigint NOT NULL,
      provider text NOT NULL,
      description text NOT NULL,
      handle text,
      state text NOT NULL,
      problem text,
      checked_at TIMESTAMP WITH TIME ZONE,
      zones_due_at TIMESTAMP WITH TIME ZONE NOT NULL,
      failures integer NOT NULL DEFAULT '0',
      lease_token bigint NOT NULL DEFAULT '0',
      leased_until TIMESTAMP WITH TIME ZONE,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      deleted_at TIMESTAMP WITH TIME ZONE,
      CONSTRAINT dns_integration_state CHECK (state IN ('ok', 'failing')),
      CONSTRAINT dns_integration_handle_until_deleted CHECK (handle IS NOT NULL OR deleted_at IS NOT NULL),
      CONSTRAINT dns_integration_id_is_a_json_number CHECK (id BETWEEN 1 AND 9007199254740991),
      CONSTRAINT "PK_3c989ac5ad3a8087ef2bcd1142b" PRIMARY KEY (id)
    )`,
  `COMMENT ON COLUMN dns_integration.id IS 'random 48-bit integer'`,
  `COMMENT ON COLUMN dns_integration.handle IS 'sealed by the gateway'`,
  `COMMENT ON COLUMN dns_integration.lease_token IS 'fencing token'`,
  `COMMENT ON COLUMN dns_integration.leased_until IS 'by the clock of the database'`,
  `CREATE INDEX dns_integration_account ON dns_integration (account_id)`,
  `CREATE INDEX dns_integration_zones_due ON dns_integration (zones_due_at) WHERE deleted_at IS NULL`,
  `CREATE TABLE dns_integration_zone (
      integration_id bigint NOT NULL,
      name text COLLATE "C" NOT NULL,
      account_id bigint NOT NULL,
      zone_id text NOT NULL,
      CONSTRAINT "PK_286edd5f56fb5f529da887bf102" PRIMARY KEY (integration_id, name)
    )`,
  `COMMENT ON COLUMN dns_integration_zone.name IS 'lower case, A-labels, no dot at the end'`,
  `CREATE INDEX dns_integration_zone_of_account ON dns_integration_zone (account_id, name)`,
  `CREATE TABLE approval_record (
      id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
      account_id bigint NOT NULL,
      integration_id bigint NOT NULL,
      dns_name text COLLATE "C" NOT NULL,
      zone_name text COLLATE "C" NOT NULL,
      target text NOT NULL,
      state text NOT NULL,
      attempted_at TIMESTAMP WITH TIME ZONE,
      added_at TIMESTAMP WITH TIME ZONE,
      record_handle text,
      stopped_at TIMESTAMP WITH TIME ZONE,
      problem text,
      failures integer NOT NULL DEFAULT '0',
      due_at TIMESTAMP WITH TIME ZONE,
      asks integer NOT NULL DEFAULT '0',
      standing_at TIMESTAMP WITH TIME ZONE,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      removed_at TIMESTAMP WITH TIME ZONE,
      CONSTRAINT approval_record_removed_is_final CHECK ((state = 'removed') = (removed_at IS NOT NULL)),
      CONSTRAINT approval_record_state CHECK (state IN ('wanted', 'standing', 'unwanted', 'removed')),
      CONSTRAINT "PK_134fde1601a103af7b408f36685" PRIMARY KEY (id)
    )`,
  `COMMENT ON COLUMN approval_record.zone_name IS 'the zone of the integration that holds it'`,
  `COMMENT ON COLUMN approval_record.record_handle IS 'sealed by the gateway'`,
  `COMMENT ON COLUMN approval_record.failures IS 'failures in a row'`,
  `COMMENT ON COLUMN approval_record.asks IS 'number of requested checks'`, // language: a column
  `COMMENT ON COLUMN approval_record.standing_at IS 'last seen at every authoritative server since it was added'`,
  `CREATE INDEX approval_record_integration ON approval_record (integration_id)`,
  `CREATE INDEX approval_record_removed ON approval_record (removed_at) WHERE state = 'removed'`,
  `CREATE INDEX approval_record_due ON approval_record (due_at) WHERE state <> 'removed' AND due_at IS NOT NULL`,
  `CREATE UNIQUE INDEX approval_record_of_name ON approval_record (account_id, dns_name) WHERE state <> 'removed'`,
  `CREATE TABLE approval_record_use (
      record_id bigint NOT NULL,
      plan_id bigint NOT NULL,
      CONSTRAINT "PK_5504e0bc7e93c233571a10a428c" PRIMARY KEY (record_id, plan_id)
    )`,
  `CREATE INDEX approval_record_use_plan ON approval_record_use (plan_id)`,
  `ALTER TABLE dns_integration ADD CONSTRAINT "FK_907db668f100fbcabe0dc8cd761" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE dns_integration_zone ADD CONSTRAINT "FK_622459c091c1b7dd768e9c2f72c" FOREIGN KEY (integration_id) REFERENCES dns_integration(id) ON DELETE CASCADE`,
  `ALTER TABLE dns_integration_zone ADD CONSTRAINT "FK_eb771141f07f6efadb7f0e08f26" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE approval_record ADD CONSTRAINT "FK_f6fc43fb32ead18c8e6b4ac8bd7" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE approval_record ADD CONSTRAINT "FK_30a72e17e9c3b2f36a2391ed173" FOREIGN KEY (integration_id) REFERENCES dns_integration(id)`,
  `ALTER TABLE approval_record_use ADD CONSTRAINT "FK_a3f1c34959316d1072bb2a2c098" FOREIGN KEY (record_id) REFERENCES approval_record(id) ON DELETE CASCADE`,
  `ALTER TABLE approval_record_use ADD CONSTRAINT "FK_1aa10ce1d94d52359fcda8559fc" FOREIGN KEY (plan_id) REFERENCES plan(id)`,
  `COMMENT ON COLUMN idempotency_record.body_sha256 IS 'SHA-256 over the body as canonical JSON; sealed when the body holds credentials'`,
  `COMMENT ON COLUMN idempotency_record.status IS '0: reserved; the body is the token of the request that holds the reservation'`,
];

/** Children before parents. */
const down = [
  `COMMENT ON COLUMN idempotency_record.body_sha256 IS 'SHA-256 over the body as canonical JSON'`,
  `COMMENT ON COLUMN idempotency_record.status IS NULL`,
  `DROP TABLE approval_record_use`,
  `DROP TABLE approval_record`,
  `DROP TABLE dns_integration_zone`,
  `DROP TABLE dns_integration`,
];
