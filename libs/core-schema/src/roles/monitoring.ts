import { type RoleGrants, sessionSettings } from '@certwright/postgres';

/** The monitoring API: what accounts monitor. It adds to the record of changes and cannot read or change it. */
export const monitoring: RoleGrants = {
  tables: {
    // created_at: row locks need a column.
    account: {
      select:
        'id disabled_at contact_email max_monitored_domains max_monitored_endpoints max_findings_per_day',
      update: 'created_at',
    },
    account_user: { select: 'id account_id email disabled_at' },
    api_key: { select: 'id account_id secret_sha256 permissions disabled_at' },
    cert_object_v2: { select: 'plan_id cn' },
    deployment: { select: 'id mode', insert: 'mode' },
    known_cert: { select: '*', insert: 'id account_id tbs_sha256 note', update: 'note', delete: true },
    known_key: {
      select: '*',
      insert: 'id account_id spki_sha256 dns_names dns_names_sha256 note',
      update: 'note',
      delete: true,
    },
    mail: { select: 'id', insert: 'account_id kind recipient facts state due_at' },
    monitored_domain: {
      select: 'account_id name enabled enabled_at',
      insert: 'account_id name enabled',
      update: 'enabled enabled_at',
      delete: true,
    },
    monitored_endpoint: {
      select: `
        account_id dns_name muted ports last_not_after check_due_at looked_at state state_since findings served
        held_since`,
      insert: 'account_id dns_name',
      update: 'muted ports check_due_at',
      delete: true,
    },
    monitoring_account: {
      select: 'account_id found_on found throttled behind_since',
      insert: 'account_id behind_since',
      update: 'behind_since',
    },
    monitoring_backfill: { select: 'change_id account_id name state found unknown created_at' },
    monitoring_change: {
      insert: 'transaction_id account_id api_key_id object name action before after',
    },
    monitoring_finding: {
      select: `
        account_id tbs_sha256 position spki_sha256 state reason plan_id endpoints endpoint_count alert found_at source
        alerted_at acknowledged_at acknowledged_by note`,
      insert: `
        account_id tbs_sha256 spki_sha256 not_before not_after dns_names_sha256 endpoints endpoint_count dns_names
        monitored_domains source state reason classify_at`,
      update: 'state reason note classify_at alert_due_at mail_due acknowledged_at acknowledged_by',
    },
    monitoring_finding_domain: { select: '*' },
    monitoring_follower: { select: 'followed_to moved_at' },
    monitoring_settings: { select: '*', insert: '*', update: '*' },
    monitoring_task: { select: 'task leased_until' },
    order_v3: { select: 'plan_id name' },
    outbox: { insert: 'job job_id payload' },
    webhook_delivery: {
      select: 'id account_id endpoint_id subject replay_of state attempts due_at created_at',
      insert: 'id account_id endpoint_id version subject event body state due_at',
      update: 'state finished_at',
    },
    webhook_endpoint: { select: 'id account_id enabled events' },
  },
  session: sessionSettings({ statementTimeoutMs: 15_000 }),
};
