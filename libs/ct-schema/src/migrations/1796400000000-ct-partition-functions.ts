import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Partitions are made and dropped while processes run, and only the owner of a table may do that. These functions do it for a
 * role that owns nothing.
 */
export class CtPartitionFunctions1796400000000 implements MigrationInterface {
  readonly name = 'CtPartitionFunctions1796400000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    const [{ schema }] = (await queryRunner.query(`SELECT quote_ident(current_schema()) AS schema`)) as [
      { schema: string },
    ];
    // The caller may have temporary tables of the same names: those come last.
    const asOwner = `LANGUAGE plpgsql SECURITY DEFINER SET search_path = ${schema}, pg_temp`;
    for (const statement of functions(asOwner)) await queryRunner.query(statement);
    for (const signature of signatures)
      await queryRunner.query(`REVOKE EXECUTE ON FUNCTION ${signature} FROM PUBLIC`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const signature of [...signatures].reverse()) await queryRunner.query(`DROP FUNCTION ${signature}`);
  }
}

const signatures = [
  'ct_grant_as(text,text)',
  'ct_make_positions(bigint,bigint)',
  'ct_make_known(timestamptz)',
  'ct_drop_partition(text)',
];

const functions = (asOwner: string): readonly string[] => [
  // Partitions are also used by their own names.
  `CREATE FUNCTION ct_grant_as(parent text, partition text) RETURNS void LANGUAGE plpgsql AS $$
   DECLARE
     held record;
   BEGIN
     FOR held IN
       SELECT privilege_type AS privilege, rolname AS role
       FROM pg_class CROSS JOIN aclexplode(relacl) JOIN pg_roles ON pg_roles.oid = grantee
       WHERE pg_class.oid = parent::regclass AND grantee <> relowner
       UNION ALL
       SELECT format('%s (%I)', privilege_type, attname), rolname
       FROM pg_attribute CROSS JOIN aclexplode(attacl) JOIN pg_roles ON pg_roles.oid = grantee
       WHERE attrelid = parent::regclass AND NOT attisdropped
     LOOP
       EXECUTE format('GRANT %s ON %I TO %I', held.privilege, partition, held.role);
     END LOOP;
   END $$`,
  // ATTACH blocks no reader or writer of the parent, unlike CREATE TABLE … PARTITION OF.
  `CREATE FUNCTION ct_make_positions(first bigint, past bigint) RETURNS void ${asOwner} AS $$
   BEGIN
     EXECUTE format('CREATE TABLE ct_issuance_p%1$s (LIKE ct_issuance INCLUDING ALL)', past);
     EXECUTE format('ALTER TABLE ct_issuance ATTACH PARTITION ct_issuance_p%2$s FOR VALUES FROM (%1$s) TO (%2$s)', first, past);
     EXECUTE format('CREATE TABLE ct_block_p%1$s (LIKE ct_block INCLUDING ALL)', past);
     EXECUTE format('ALTER TABLE ct_block ATTACH PARTITION ct_block_p%1$s FOR VALUES IN (%1$s)', past);
     PERFORM ct_grant_as('ct_issuance', 'ct_issuance_p' || past);
     PERFORM ct_grant_as('ct_block', 'ct_block_p' || past);
     INSERT INTO ct_partition (end_position) VALUES (past);
   END $$`,
  `CREATE FUNCTION ct_make_known(month timestamptz) RETURNS void ${asOwner} AS $$
   DECLARE
     first timestamp := date_trunc('month', month AT TIME ZONE 'UTC');
     name text := 'ct_known_' || to_char(first, 'YYYYMM');
   BEGIN
     IF to_regclass(name) IS NULL THEN
       EXECUTE format('CREATE TABLE %I PARTITION OF ct_known FOR VALUES FROM (%L) TO (%L)',
         name, first AT TIME ZONE 'UTC', (first + interval '1 month') AT TIME ZONE 'UTC');
       PERFORM ct_grant_as('ct_known', name);
     END IF;
   END $$`,
  `CREATE FUNCTION ct_drop_partition(partition text) RETURNS void ${asOwner} AS $$
   BEGIN
     IF partition !~ '^ct_(issuance_p\\d+|block_p\\d+|known_\\d{6})$' THEN
       RAISE EXCEPTION '% is not a partition that may be dropped', partition;
     END IF;
     EXECUTE format('DROP TABLE %I', partition);
   END $$`,
];
