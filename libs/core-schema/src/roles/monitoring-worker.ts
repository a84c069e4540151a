import type { RoleGrants } from '@certwright/postgres';

/** Matches the index of public certificates with monitored domains: reads keys and digests of certificates, and no secret. */
export const monitoringWorker: RoleGrants = {
  tables: {
    account: { select: 'id contact_email disabled_at max_findings_per_day max_monitored_endpoints' },
    account_user: { select: 'id account_id email disabled_at' },
    certificate: { select: 'account_id plan_id dns_names spki_sha256 tbs_sha256 created_at' },
    issuance: { select: 'plan_id terms_id state' },
    known_cert: { select: 'account_id tbs_sha256' },
    known_key: { select: 'account_id spki_sha256 dns_names created_at' },
    mail: { select: 'id', insert: 'account_id kind recipient facts state due_at' },
    monitored_domain: { select: 'account_id name enabled' },
    monitored_endpoint: {
      select: 'account_id dns_name last_not_after',
      insert: 'account_id dns_name last_not_after',
      update: 'last_not_after',
    },
    monitored_name: { select: '*', insert: '*', update: 'tbs_sha256 position' },
    monitoring_account: { select: '*', insert: 'account_id', update: 'found_on found throttled overflow_on' },
    monitoring_backfill: {
      select: 'change_id account_id name position until_position state found unknown mail_due',
      insert: 'change_id account_id name until_position',
      update: 'position until_position state found unknown mail_due finished_at',
    },
    monitoring_change: { select: 'id transaction_id account_id object name action before after' },
    monitoring_checkpoint: {
      select: '*',
      insert: 'position tbs_sha256',
      update: 'tbs_sha256 created_at',
      delete: true,
    },
    monitoring_finding: { select: '*', insert: '*' },
    monitoring_follower: {
      select: 'position tbs_sha256 followed_to change_transaction_id change_id',
      insert: 'position tbs_sha256 followed_to moved_at change_transaction_id change_id',
      update: 'position tbs_sha256 followed_to moved_at change_transaction_id change_id',
    },
    monitoring_settings: { select: '*' },
    monitoring_task: { select: '*', update: 'lease_token leased_until' },
    monitoring_unreadable_cursor: { select: '*', insert: '*', update: 'entry_index' },
    outbox: { insert: 'job job_id payload' },
    plan: { select: 'id account_id' },
    terms: { select: 'id plan_id dns_names spki_sha256' },
    webhook_delivery: {
      select: 'id endpoint_id subject replay_of state attempts due_at created_at',
      insert: 'id account_id endpoint_id version subject event body state due_at',
    },
    webhook_endpoint: { select: 'id account_id enabled events' },
  },
};
