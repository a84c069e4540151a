import { type RoleGrants, sessionSettings } from '@certwright/postgres';

/** Sends queued messages: reads the secrets of webhooks, and no CSR. */
export const notifier: RoleGrants = {
  tables: {
    account: { select: 'id name contact_email disabled_at max_findings_per_day' },
    agent: { select: 'id account_id cluster name enrolled_at removed_at last_seen_at' },
    account_user: { select: 'id account_id email disabled_at' },
    cert_object_v2: { select: 'plan_id cn' },
    certificate: {
      select: `
        id plan_id is_current dns_names serial_number not_after sha256 revoked_at created_at ca_revoked_at tbs_sha256
        sct_at`,
    },
    deployment: { select: 'id mode' },
    email_approval: { select: 'id plan_id dns_name address asked_at approved_at' },
    email_approval_token: { select: 'expires_at', insert: 'sha256 approval_id expires_at' },
    endpoint_report: { select: 'id account_id dns_name kind findings reported_at' },
    installation: { select: 'plan_id agent_id point state certificate_sha256 served since problem' },
    invoice: {
      select: 'number account_id lines total_cents currency note issued_at refunded_at',
    },
    issuance: { select: 'id plan_id terms_id state approvals last_error opened_at' },
    key_request: { select: 'plan_id' },
    mail: {
      select: '*',
      insert: 'account_id kind recipient facts state due_at',
      update: 'state attempts due_at lease_token leased_until finished_at',
      delete: true,
    },
    monitored_domain: { select: 'account_id name enabled' },
    monitored_endpoint: { select: 'account_id dns_name muted' },
    monitoring_account: { select: 'account_id found_on throttled' },
    monitoring_backfill: { select: 'change_id account_id name state found unknown' },
    monitoring_finding: {
      select: `
        account_id tbs_sha256 spki_sha256 issuer_spki_sha256 not_before not_after endpoints endpoint_count source
        backfill_id state found_at alert`,
    },
    order_v3: { select: 'plan_id account_id name dns_names approver_emails cluster' },
    outbox: { insert: 'job job_id payload' },
    plan: {
      select: 'id account_id terms_id auto_renew muted paused closed_at owner replacement_paid renew_at',
    },
    rollout: { select: 'plan_id certificate_sha256 begun_at first_agent served_at stopped_at' },
    terms: { select: 'id dns_names approver_emails approval_ways' },
    webhook_attempt: {
      select: 'id delivery_id',
      insert: 'delivery_id started_at duration_ms status problem',
    },
    webhook_delivery: {
      select: '*',
      update: 'state attempts due_at lease_token leased_until finished_at',
      delete: true,
    },
    webhook_endpoint: {
      select: `
        id account_id url credentials_sealed secret_sealed previous_secret_sealed previous_secret_until
        older_secrets_sealed older_secrets_until description enabled disabled_reason failing_since failed_at`,
      update: 'enabled disabled_reason failing_since failed_at',
    },
  },
  session: sessionSettings({ statementTimeoutMs: 10_000 }),
};
