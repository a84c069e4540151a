import { type RoleGrants, sessionSettings } from '@certwright/postgres';

/** Matches the index of public certificates with monitored domains: reads keys and digests of certificates, and no secret. */
export const monitoringWorker: RoleGrants = {
  tables: {
    account: { select: 'id contact_email disabled_at max_findings_per_day max_monitored_endpoints' },
    account_user: { select: 'id account_id email disabled_at' },
    cert_object_v2: { select: 'plan_id cn' },
    certificate: {
      select: `
        id account_id plan_id imported is_current dns_names not_before not_after sha256 spki_sha256 tbs_sha256 sct_at
        sighted_at not_logged_at chain_sha256 revoked_at created_at`,
      update: 'sighted_at not_logged_at',
    },
    certificate_chain: { select: 'sha256 chain' },
    deployment: { select: 'id mode' },
    endpoint_hold: {
      select: 'id counted_from ended_at',
      insert: 'began_at counted_from',
      update: 'ended_at',
      delete: true,
    },
    endpoint_report: {
      select: 'id account_id dns_name reported_at mail_due',
      insert: 'account_id dns_name kind findings reported_at mail_due',
      update: 'mail_due',
      delete: true,
    },
    issuance: {
      select: 'id plan_id account_id terms_id state ca_reference opened_at closed_at strays_checked',
      update: 'strays_checked',
    },
    known_cert: { select: 'id account_id tbs_sha256' },
    known_key: { select: 'id account_id spki_sha256 dns_names created_at' },
    mail: { select: 'id', insert: 'account_id kind recipient facts state due_at' },
    monitored_domain: { select: 'account_id name enabled' },
    monitored_endpoint: {
      select: `
        account_id dns_name muted ports last_not_after check_due_at looked_at state state_since served_at gone_since
        findings served bad_since held_since attempts`,
      insert: 'account_id dns_name last_not_after',
      update: `
        last_not_after check_due_at looked_at state state_since served_at gone_since findings served bad_since
        held_since attempts`,
      delete: true,
    },
    monitored_name: { select: '*', insert: '*', update: 'tbs_sha256 position', delete: true },
    monitoring_account: {
      select: `
        account_id found_on found throttled overflow_on mailed_at mail_due_at endpoint_mailed_at endpoint_mail_due_at
        heartbeat_at`,
      insert: 'account_id mail_due_at endpoint_mail_due_at heartbeat_at',
      update: `
        found_on found throttled overflow_on mailed_at mail_due_at endpoint_mailed_at endpoint_mail_due_at heartbeat_at`,
    },
    monitoring_backfill: {
      select: 'change_id account_id name position until_position state found unknown mail_due finished_at',
      insert: 'change_id account_id name until_position',
      update: 'position until_position state found unknown mail_due finished_at',
      delete: true,
    },
    monitoring_change: { select: 'id transaction_id account_id object name action before after changed_at' },
    monitoring_checkpoint: {
      select: '*',
      insert: 'position tbs_sha256',
      update: 'tbs_sha256 created_at',
      delete: true,
    },
    monitoring_finding: {
      select: `
        account_id tbs_sha256 position spki_sha256 issuer_spki_sha256 not_after dns_names_sha256 endpoints endpoint_count
        dns_names monitored_domains previous_tbs_sha256 source backfill_id state reason found_at classify_at alert_due_at
        mail_due`,
      insert: `
        account_id tbs_sha256 position spki_sha256 issuer_spki_sha256 not_before not_after dns_names_sha256 endpoints
        endpoint_count dns_names monitored_domains previous_tbs_sha256 source backfill_id state reason plan_id found_at
        classify_at alert_due_at`,
      update: 'state reason plan_id classify_at alert_due_at alerted_at alert mail_due',
      delete: true,
    },
    monitoring_follower: {
      select: 'position tbs_sha256 followed_to change_transaction_id change_id',
      insert: 'position tbs_sha256 followed_to moved_at change_transaction_id change_id',
      update: 'position tbs_sha256 followed_to moved_at change_transaction_id change_id',
    },
    monitoring_settings: {
      select: `
        account_id authorized_cas alert_delay_minutes certificate_mail endpoint_mail digest_hour_utc heartbeat`,
    },
    monitoring_task: { select: '*', update: 'lease_token leased_until' },
    monitoring_unreadable_cursor: { select: '*', insert: '*', update: 'entry_index' },
    order_v3: { select: 'plan_id name' },
    outbox: { insert: 'job job_id payload' },
    plan: { select: 'id account_id owner closed_at' },
    stray_certificate: {
      select: 'tbs_sha256',
      insert: 'account_id tbs_sha256 issuance_id problem',
    },
    terms: { select: 'id plan_id dns_names spki_sha256' },
    webhook_delivery: {
      select: 'id account_id endpoint_id subject replay_of state attempts due_at created_at',
      insert: 'id account_id endpoint_id version subject event body state due_at',
      update: 'state finished_at',
    },
    webhook_endpoint: { select: 'id account_id enabled events' },
  },
  session: sessionSettings({ statementTimeoutMs: 10_000, plansEachTime: true }),
};
