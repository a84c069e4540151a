import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Each secret of a webhook signs for 24 hours after it was replaced, however often the webhook is rotated meanwhile. */
export class OlderWebhookSecrets1797210000000 implements MigrationInterface {
  readonly name = 'OlderWebhookSecrets1797210000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE webhook_endpoint DROP CONSTRAINT webhook_endpoint_older_secrets`);
    for (const column of ['older_secrets_until', 'older_secrets_sealed'])
      await queryRunner.query(`ALTER TABLE webhook_endpoint DROP COLUMN ${column}`);
  }
}

const up = [
  `ALTER TABLE webhook_endpoint
     ADD older_secrets_sealed bytea array NOT NULL DEFAULT '{}',
     ADD older_secrets_until TIMESTAMP WITH TIME ZONE array NOT NULL DEFAULT '{}',
     ADD CONSTRAINT webhook_endpoint_older_secrets
       CHECK (cardinality(older_secrets_sealed) = cardinality(older_secrets_until))`,
  `COMMENT ON COLUMN webhook_endpoint.older_secrets_sealed IS 'before the previous one, oldest first'`,
  `COMMENT ON COLUMN webhook_endpoint.older_secrets_until IS 'until when each of them signs'`,
];
