import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What accounts may search in the issuances of Certificate Transparency, how often and how long. */
export class SearchPlans1795651200000 implements MigrationInterface {
  readonly name = 'SearchPlans1795651200000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `CREATE TABLE search_plan (
      name text NOT NULL,
      queries_per_second integer NOT NULL,
      burst integer NOT NULL,
      time_limit_ms integer NOT NULL,
      firehose boolean NOT NULL DEFAULT false,
      is_default boolean NOT NULL DEFAULT false,
      CONSTRAINT search_plan_time_limit CHECK (time_limit_ms BETWEEN 100 AND 600000),
      CONSTRAINT search_plan_rate CHECK (queries_per_second BETWEEN 1 AND 100000 AND burst BETWEEN 1 AND 1000000),
      CONSTRAINT search_plan_name CHECK (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
      CONSTRAINT "PK_feb863b0ddde1ce2ee6d36ba587" PRIMARY KEY (name)
    )`,
  `COMMENT ON COLUMN search_plan.queries_per_second IS 'of all API keys of an account together'`,
  `COMMENT ON COLUMN search_plan.burst IS 'queries at once, after a pause'`,
  `COMMENT ON COLUMN search_plan.time_limit_ms IS 'of one query, ms'`,
  `COMMENT ON COLUMN search_plan.firehose IS 'whether the stream of all issuances may be read'`,
  `COMMENT ON COLUMN search_plan.is_default IS 'the plan of every account without a subscription'`,
  `CREATE UNIQUE INDEX search_plan_default ON search_plan (is_default) WHERE is_default`,
  `CREATE TABLE search_subscription (
      account_id bigint NOT NULL,
      plan text NOT NULL,
      suspended_at TIMESTAMP WITH TIME ZONE,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT "PK_89605e1efdae6f0fec6dcf63235" PRIMARY KEY (account_id)
    )`,
  `COMMENT ON COLUMN search_subscription.suspended_at IS 'not paid: nothing is answered under it; null: paid'`,
  `ALTER TABLE search_subscription ADD CONSTRAINT "FK_89605e1efdae6f0fec6dcf63235" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE search_subscription ADD CONSTRAINT "FK_b1f8c1612f74f66e2a067477f60" FOREIGN KEY (plan) REFERENCES search_plan(name)`,
  // Enough to try everything that a page needs; a program that follows hundreds of domains pays.
  `INSERT INTO search_plan (name, queries_per_second, burst, time_limit_ms, firehose, is_default) VALUES
      ('free', 1, 10, 5000, false, true),
      ('standard', 25, 100, 20000, false, false),
      ('firehose', 25, 100, 20000, true, false)`,
  // The account that `npm start` made before there were plans; others of a sandbox are somebody's own.
  `INSERT INTO search_subscription (account_id, plan)
    SELECT id, 'firehose' FROM account
    WHERE name = 'Sandbox' AND contact_email = 'sandbox@example.com'
      AND EXISTS (SELECT FROM deployment WHERE mode = 'sandbox')`,
];

const down = [`DROP TABLE search_subscription`, `DROP TABLE search_plan`];
