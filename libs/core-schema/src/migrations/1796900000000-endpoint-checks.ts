import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the servers of monitored endpoints present, and what accounts were notified of. */
export class EndpointChecks1796900000000 implements MigrationInterface {
  readonly name = 'EndpointChecks1796900000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `ALTER TABLE monitored_endpoint
     ADD check_due_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT (now() + (random() * '00:05:00'::interval)),
     ADD looked_at TIMESTAMP WITH TIME ZONE,
     ADD state text NOT NULL DEFAULT 'not_checked',
     ADD state_since TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
     ADD served_at TIMESTAMP WITH TIME ZONE,
     ADD gone_since TIMESTAMP WITH TIME ZONE,
     ADD findings jsonb NOT NULL DEFAULT '[]',
     ADD served jsonb NOT NULL DEFAULT '[]',
     ADD bad_since TIMESTAMP WITH TIME ZONE,
     ADD held_since TIMESTAMP WITH TIME ZONE,
     ADD attempts integer NOT NULL DEFAULT 0,
     ADD CONSTRAINT monitored_endpoint_state
       CHECK (state IN ('not_checked', 'ok', 'suspect', 'failing', 'unreachable', 'gone'))`,
  // Endpoints of earlier releases are new ones here: they are checked over six hours, not at once.
  `UPDATE monitored_endpoint SET state_since = found_at, check_due_at = now() + random() * interval '6 hours'`,
  `COMMENT ON COLUMN monitored_endpoint.looked_at IS 'the last check with a result; null: none yet'`,
  `COMMENT ON COLUMN monitored_endpoint.served_at IS 'the last check in which a server presented a certificate'`,
  `COMMENT ON COLUMN monitored_endpoint.gone_since IS 'since when no server presents a certificate; null: one does, or it was not checked'`,
  `COMMENT ON COLUMN monitored_endpoint.findings IS 'TrackedFinding[] of libs/endpoint-checks'`,
  `COMMENT ON COLUMN monitored_endpoint.served IS 'what each address presented in the last check with a result'`,
  `COMMENT ON COLUMN monitored_endpoint.bad_since IS 'when it turned bad after a check without findings; null: it has none, or was never without'`,
  `COMMENT ON COLUMN monitored_endpoint.held_since IS 'since when a report about it is held back, because too many endpoints turned bad; null: none is'`,
  `COMMENT ON COLUMN monitored_endpoint.attempts IS 'checks in a row without a result: no response by a prober, or a failed look-up'`,
  `CREATE INDEX monitored_endpoint_due ON monitored_endpoint (check_due_at, account_id)`,
  `CREATE INDEX monitored_endpoint_due_of_account ON monitored_endpoint (account_id, check_due_at)`,
  `CREATE INDEX monitored_endpoint_name ON monitored_endpoint (dns_name)`,
  `CREATE INDEX monitored_endpoint_looked ON monitored_endpoint (looked_at)`,
  `CREATE INDEX monitored_endpoint_expiry ON monitored_endpoint (last_not_after)`,
  `CREATE INDEX monitored_endpoint_bad ON monitored_endpoint (bad_since) WHERE bad_since IS NOT NULL`,
  `CREATE INDEX monitored_endpoint_held ON monitored_endpoint (held_since) WHERE held_since IS NOT NULL`,
  `CREATE TABLE endpoint_report (
      id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
      account_id bigint NOT NULL,
      dns_name text COLLATE "C" NOT NULL,
      kind text NOT NULL,
      findings jsonb NOT NULL,
      reported_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      mail_due boolean NOT NULL,
      CONSTRAINT endpoint_report_kind CHECK (kind IN ('problem', 'recovered')),
      CONSTRAINT "PK_endpoint_report" PRIMARY KEY (id)
    )`,
  `COMMENT ON COLUMN endpoint_report.dns_name IS 'of the endpoint, which may be deleted'`,
  `COMMENT ON COLUMN endpoint_report.findings IS 'TrackedFinding[] of libs/endpoint-checks: those that are reported or withdrawn'`,
  `CREATE INDEX endpoint_report_to_mail ON endpoint_report (account_id, id) WHERE mail_due`,
  `CREATE INDEX endpoint_report_age ON endpoint_report (reported_at)`,
  `CREATE TABLE endpoint_hold (
      id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
      began_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      counted_from TIMESTAMP WITH TIME ZONE NOT NULL,
      ended_at TIMESTAMP WITH TIME ZONE,
      is_released boolean NOT NULL DEFAULT false,
      CONSTRAINT "PK_endpoint_hold" PRIMARY KEY (id)
    )`,
  `COMMENT ON COLUMN endpoint_hold.counted_from IS 'endpoints that turned bad since then count, until it ends'`,
  `COMMENT ON COLUMN endpoint_hold.ended_at IS 'null: it goes on'`,
  `COMMENT ON COLUMN endpoint_hold.is_released IS 'ended by the operator'`,
  `ALTER TABLE monitoring_account
     ADD endpoint_mailed_at TIMESTAMP WITH TIME ZONE,
     ADD endpoint_mail_due_at TIMESTAMP WITH TIME ZONE`,
  `COMMENT ON COLUMN monitoring_account.endpoint_mailed_at IS 'last mail with endpoints'`,
  `COMMENT ON COLUMN monitoring_account.endpoint_mail_due_at IS 'when the gathered reports about endpoints are mailed; null: none'`,
  `CREATE INDEX monitoring_account_endpoint_mail ON monitoring_account (endpoint_mail_due_at)
     WHERE endpoint_mail_due_at IS NOT NULL`,
  // Finds the current certificates for a name that a server presents another one for.
  `CREATE INDEX certificate_current_names ON certificate USING gin (dns_names) WHERE is_current`,
  `ALTER TABLE mail ALTER COLUMN account_id DROP NOT NULL`,
  `COMMENT ON COLUMN mail.account_id IS 'null: to the operator'`,
  `ALTER TABLE endpoint_report ADD CONSTRAINT "FK_ff6bf54d905505f5e04ad40717c" FOREIGN KEY (account_id) REFERENCES account(id)`,
  `ALTER TABLE monitoring_task DROP CONSTRAINT monitoring_task_task`,
  `ALTER TABLE monitoring_task ADD CONSTRAINT monitoring_task_task
     CHECK (task IN ('following', 'backfill', 'classifying', 'alerts', 'mail', 'own-issuance', 'housekeeping', 'endpoints'))`,
  `INSERT INTO monitoring_task (task) VALUES ('endpoints')`,
];

const down = [
  `DELETE FROM monitoring_task WHERE task = 'endpoints'`,
  `ALTER TABLE monitoring_task DROP CONSTRAINT monitoring_task_task`,
  `ALTER TABLE monitoring_task ADD CONSTRAINT monitoring_task_task
     CHECK (task IN ('following', 'backfill', 'classifying', 'alerts', 'mail', 'own-issuance', 'housekeeping'))`,
  // An earlier release cannot write these mails.
  `DELETE FROM mail WHERE kind IN ('monitoring-endpoints', 'monitoring-endpoints-held')`,
  `COMMENT ON COLUMN mail.account_id IS NULL`,
  `ALTER TABLE mail ALTER COLUMN account_id SET NOT NULL`,
  `DROP INDEX certificate_current_names`,
  `ALTER TABLE monitoring_account DROP COLUMN endpoint_mail_due_at, DROP COLUMN endpoint_mailed_at`,
  `DROP TABLE endpoint_hold`,
  `DROP TABLE endpoint_report`,
  `DROP INDEX monitored_endpoint_held`,
  `DROP INDEX monitored_endpoint_bad`,
  `DROP INDEX monitored_endpoint_expiry`,
  `DROP INDEX monitored_endpoint_looked`,
  `DROP INDEX monitored_endpoint_name`,
  `DROP INDEX monitored_endpoint_due_of_account`,
  `DROP INDEX monitored_endpoint_due`,
  `ALTER TABLE monitored_endpoint
     DROP CONSTRAINT monitored_endpoint_state,
     DROP COLUMN check_due_at, DROP COLUMN looked_at, DROP COLUMN state, DROP COLUMN state_since, DROP COLUMN served_at,
     DROP COLUMN gone_since, DROP COLUMN findings, DROP COLUMN served, DROP COLUMN bad_since, DROP COLUMN held_since,
     DROP COLUMN attempts`,
];
