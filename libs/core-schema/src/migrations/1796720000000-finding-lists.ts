import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lists of findings by state and by monitored domain, and since when a domain is monitored. */
export class FindingLists1796720000000 implements MigrationInterface {
  readonly name = 'FindingLists1796720000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    const [{ schema }] = (await queryRunner.query(`SELECT quote_ident(current_schema()) AS schema`)) as [
      { schema: string },
    ];
    for (const statement of up(schema)) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

/** The rows follow from those of `monitoring_finding`: no process writes them itself. */
const up = (schema: string) => [
  `ALTER TABLE monitored_domain ADD enabled_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now()`,
  `COMMENT ON COLUMN monitored_domain.enabled_at IS 'when it was created or last enabled'`,
  `CREATE INDEX monitoring_account_behind ON monitoring_account (account_id) WHERE behind_since IS NOT NULL`,
  `CREATE INDEX monitoring_finding_list ON monitoring_finding (account_id, state, found_at, tbs_sha256)`,
  `CREATE TABLE monitoring_finding_domain (
      account_id bigint NOT NULL,
      monitored_domain text COLLATE "C" NOT NULL,
      state text NOT NULL,
      found_at TIMESTAMP WITH TIME ZONE NOT NULL,
      tbs_sha256 bytea NOT NULL,
      CONSTRAINT "PK_42daa75bbd1bc70adad33209094" PRIMARY KEY (account_id, monitored_domain, state, found_at, tbs_sha256)
    )`,
  `ALTER TABLE monitoring_finding_domain ADD CONSTRAINT "FK_68dc0fd28b4985bc3b85d8cb2a5" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `CREATE FUNCTION monitoring_finding_is_listed() RETURNS trigger LANGUAGE plpgsql
     SECURITY DEFINER SET search_path = ${schema}, pg_temp AS $$
   BEGIN
     IF TG_OP <> 'INSERT' THEN
       DELETE FROM monitoring_finding_domain
       WHERE account_id = OLD.account_id AND monitored_domain = ANY (OLD.monitored_domains) AND state = OLD.state
         AND found_at = OLD.found_at AND tbs_sha256 = OLD.tbs_sha256;
     END IF;
     IF TG_OP <> 'DELETE' AND NEW.source <> 'test' THEN
       INSERT INTO monitoring_finding_domain (account_id, monitored_domain, state, found_at, tbs_sha256)
       SELECT DISTINCT NEW.account_id, name, NEW.state, NEW.found_at, NEW.tbs_sha256
       FROM unnest(NEW.monitored_domains) AS name;
     END IF;
     RETURN NULL;
   END $$`,
  `REVOKE EXECUTE ON FUNCTION monitoring_finding_is_listed() FROM PUBLIC`,
  `INSERT INTO monitoring_finding_domain (account_id, monitored_domain, state, found_at, tbs_sha256)
     SELECT DISTINCT account_id, name, state, found_at, tbs_sha256
     FROM monitoring_finding CROSS JOIN LATERAL unnest(monitored_domains) AS name WHERE source <> 'test'`,
  `CREATE TRIGGER monitoring_finding_is_listed
     AFTER INSERT OR DELETE OR UPDATE OF state, found_at, monitored_domains ON monitoring_finding
     FOR EACH ROW EXECUTE FUNCTION monitoring_finding_is_listed()`,
];

const down = [
  `DROP TRIGGER monitoring_finding_is_listed ON monitoring_finding`,
  `DROP FUNCTION monitoring_finding_is_listed()`,
  `DROP TABLE monitoring_finding_domain`,
  `DROP INDEX monitoring_finding_list`,
  `DROP INDEX monitoring_account_behind`,
  `ALTER TABLE monitored_domain DROP COLUMN enabled_at`,
];
