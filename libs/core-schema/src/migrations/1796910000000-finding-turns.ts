import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Findings are classified account by account, and listed by domain once per statement that adds some. */
export class FindingTurns1796910000000 implements MigrationInterface {
  readonly name = 'FindingTurns1796910000000';

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

const rowTrigger = (events: string) => `CREATE TRIGGER monitoring_finding_is_listed
     AFTER ${events} ON monitoring_finding
     FOR EACH ROW EXECUTE FUNCTION monitoring_finding_is_listed()`;
const changed = 'DELETE OR UPDATE OF state, found_at, monitored_domains';

const up = (schema: string) => [
  `DROP INDEX monitoring_finding_to_classify`,
  `CREATE INDEX monitoring_finding_to_classify ON monitoring_finding (account_id, classify_at) WHERE classify_at IS NOT NULL`,
  `CREATE FUNCTION monitoring_findings_are_listed() RETURNS trigger LANGUAGE plpgsql
     SECURITY DEFINER SET search_path = ${schema}, pg_temp AS $$
   BEGIN
     INSERT INTO monitoring_finding_domain (account_id, monitored_domain, state, found_at, tbs_sha256)
     SELECT DISTINCT account_id, name, state, found_at, tbs_sha256
     FROM added CROSS JOIN LATERAL unnest(monitored_domains) AS name WHERE source <> 'test';
     RETURN NULL;
   END $$`,
  `REVOKE EXECUTE ON FUNCTION monitoring_findings_are_listed() FROM PUBLIC`,
  `DROP TRIGGER monitoring_finding_is_listed ON monitoring_finding`,
  rowTrigger(changed),
  `CREATE TRIGGER monitoring_findings_are_listed
     AFTER INSERT ON monitoring_finding REFERENCING NEW TABLE AS added
     FOR EACH STATEMENT EXECUTE FUNCTION monitoring_findings_are_listed()`,
];

const down = [
  `DROP TRIGGER monitoring_findings_are_listed ON monitoring_finding`,
  `DROP FUNCTION monitoring_findings_are_listed()`,
  `DROP TRIGGER monitoring_finding_is_listed ON monitoring_finding`,
  rowTrigger(`INSERT OR ${changed}`),
  `DROP INDEX monitoring_finding_to_classify`,
  `CREATE INDEX monitoring_finding_to_classify ON monitoring_finding (classify_at) WHERE classify_at IS NOT NULL`,
];
