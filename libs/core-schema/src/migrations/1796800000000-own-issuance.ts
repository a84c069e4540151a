import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whether the certificates that are issued here, and no others, are in the index of public certificates. */
export class OwnIssuance1796800000000 implements MigrationInterface {
  readonly name = 'OwnIssuance1796800000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `ALTER TABLE certificate ADD sighted_at TIMESTAMP WITH TIME ZONE`,
  `COMMENT ON COLUMN certificate.sighted_at IS 'when the index of public certificates discovered it; null: not found yet, or not looked for'`,
  `ALTER TABLE certificate ADD not_logged_at TIMESTAMP WITH TIME ZONE`,
  `COMMENT ON COLUMN certificate.not_logged_at IS 'when it was reported that the index does not have it; it may be found later'`,
  `CREATE INDEX certificate_to_sight ON certificate (not_after, id)
     WHERE sct_at IS NOT NULL AND sighted_at IS NULL AND NOT imported`,
  `CREATE INDEX certificate_without_tbs ON certificate (id) WHERE tbs_sha256 IS NULL`,
  // Issuances of earlier releases are not checked: they were discovered long ago.
  `ALTER TABLE issuance ADD strays_checked boolean NOT NULL DEFAULT true`,
  `ALTER TABLE issuance ALTER COLUMN strays_checked SET DEFAULT false`,
  `COMMENT ON COLUMN issuance.strays_checked IS 'after it was closed, the index was searched for certificates of it that were not received'`,
  `CREATE INDEX issuance_strays ON issuance (closed_at, id)
     WHERE NOT strays_checked AND ca_reference IS NOT NULL AND state <> 'open'`,
  `CREATE TABLE stray_certificate (
      account_id bigint NOT NULL,
      tbs_sha256 bytea NOT NULL,
      issuance_id bigint NOT NULL,
      problem text NOT NULL,
      found_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT stray_certificate_problem CHECK (problem IN ('second-certificate', 'not-received')),
      CONSTRAINT "PK_31abba968d4c17909677c22c86b" PRIMARY KEY (account_id, tbs_sha256)
    )`,
  `COMMENT ON COLUMN stray_certificate.tbs_sha256 IS 'SHA-256 over the DER TBSCertificate without poison and SCT list'`,
  `ALTER TABLE stray_certificate ADD CONSTRAINT "FK_4f88670edcf140856eae747d2e4" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE stray_certificate ADD CONSTRAINT "FK_06bfc43efa59cb62122560aa7e7" FOREIGN KEY (issuance_id) REFERENCES issuance(id)`,
];

const down = [
  `DROP TABLE stray_certificate`,
  `ALTER TABLE issuance DROP COLUMN strays_checked`,
  `DROP INDEX certificate_without_tbs`,
  `DROP INDEX certificate_to_sight`,
  `ALTER TABLE certificate DROP COLUMN not_logged_at`,
  `ALTER TABLE certificate DROP COLUMN sighted_at`,
];
