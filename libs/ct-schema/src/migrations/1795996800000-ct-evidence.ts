import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Signed heads that contradict each other, or what was ingested; and what was ingested without a proof. */
export class CtEvidence1795996800000 implements MigrationInterface {
  readonly name = 'CtEvidence1795996800000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
    for (const [column, comment] of Object.entries(comments))
      await queryRunner.query(`COMMENT ON COLUMN ${column} IS '${comment}'`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

// Without foreign keys: evidence and marks outlive whatever happens to the row of their log.
const up = [
  `CREATE TABLE ct_log_evidence (
      id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
      log integer NOT NULL,
      kind text NOT NULL,
      problem text NOT NULL,
      url text NOT NULL,
      head_size bigint NOT NULL,
      head_root bytea NOT NULL,
      head_at TIMESTAMP WITH TIME ZONE NOT NULL,
      head_signed bytea NOT NULL,
      kept_signed bytea,
      computed_size bigint,
      computed_root bytea,
      proof bytea[],
      found_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      tried_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT ct_log_evidence_kind CHECK (kind IN ('fork', 'rollback', 'root', 'unproven')),
      CONSTRAINT ct_log_evidence_pkey PRIMARY KEY (id)
    )`,
  `CREATE INDEX ct_log_evidence_log ON ct_log_evidence (log)`,
  `CREATE TABLE ct_unverified (
      log integer NOT NULL,
      from_entry bigint NOT NULL,
      tree_state bytea NOT NULL,
      from_position bigint NOT NULL,
      to_position bigint NOT NULL,
      CONSTRAINT ct_unverified_pkey PRIMARY KEY (log, from_entry)
    )`,
  `COMMENT ON TABLE ct_unverified IS 'batches of logs that refuse proofs, until they are verified'`,
  `CREATE TABLE ct_vouched (position bigint NOT NULL, CONSTRAINT ct_vouched_pkey PRIMARY KEY (position))`,
  `COMMENT ON TABLE ct_vouched IS 'issuances of ct_unverified that another log has, too'`,
];

const comments = {
  'ct_unverified.from_entry': 'first entry of the batch',
  'ct_unverified.tree_state': 'compact range over the entries before it',
  'ct_unverified.from_position': 'of issuances discovered by the batch',
  'ct_unverified.to_position': 'exclusive',
  'ct_log_evidence.kind':
    'as in ct_log.stopped_reason; unproven: a head that the log has not proved to be consistent so far',
  'ct_log_evidence.url': 'of the log',
  'ct_log_evidence.head_signed': 'STH as JSON, or checkpoint note, as fetched',
  'ct_log_evidence.kept_signed': 'the head that was kept then, as fetched',
  'ct_log_evidence.computed_root':
    'of the entries that the log served; null: heads alone contradict each other',
  'ct_log_evidence.proof': 'consistency proof as the log answered it (RFC 6962, 2.1.2); null: there was none',
  'ct_log_evidence.tried_at': 'when the log was last asked to prove the head',
} as const;

const down = [`DROP TABLE ct_vouched`, `DROP TABLE ct_unverified`, `DROP TABLE ct_log_evidence`];
