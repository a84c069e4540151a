import { type RoleGrants, sessionSettings } from '@certwright/postgres';

/** The only role that reads CA accounts and signing records, and that issues. */
export const issuanceWorker: RoleGrants = {
  tables: {
    account: { select: '*' },
    account_balance: {
      select: '*',
      update: 'balance_cents last_invoice',
    },
    account_user: { select: 'id account_id email disabled_at' },
    acme_order: {
      select: '*',
      insert: 'issuance_id authority ca_account_id profile state replaces',
      update: 'state order_url certificate_url challenges replaces finalized_at problem outcome closed_at',
    },
    approval_record: {
      select: `
        id account_id integration_id dns_name zone_name target state attempted_at added_at record_handle
        stopped_at problem outcome failures due_at asks standing_at removed_at`,
      insert: 'account_id integration_id dns_name zone_name target state due_at',
      update: `
        integration_id zone_name state attempted_at added_at record_handle stopped_at problem outcome failures
        due_at asks standing_at removed_at`,
      delete: true,
    },
    approval_record_use: { select: '*', insert: '*' },
    blocked_key: { select: 'spki_sha256 account_id' },
    ca_account: {
      select: '*',
      insert: 'authority state key_sealed',
      update: 'state account_url key_sealed next_key_sealed rollover_due_at denied_since denied_at',
    },
    ca_issuer: {
      select: 'name certificate crl crl_number crl_next_update crl_made_at activated_at retired_at',
      update: 'crl crl_number crl_next_update crl_made_at',
    },
    ca_key: { select: 'name sealed' },
    ca_limit_bucket: { select: '*', insert: '*', update: 'spent at spent_until', delete: true },
    ca_signing: {
      select: 'issuance_id serial_number tbs issuer not_after revoked_at revocation_reason logs_chosen',
      insert: 'issuance_id serial_number tbs issuer not_after',
      update: 'revoked_at revocation_reason logs_chosen',
    },
    certificate: {
      select: `
        id account_id plan_id issuance_id is_current dns_names key_type serial_number not_before not_after
        spki_sha256 leaf chain_sha256 revoked_at revocation_reason created_at ca_reference ca_revoked_at
        tbs_sha256 sct_at`,
      insert: `
        id account_id plan_id issuance_id is_current dns_names key_type serial_number not_before not_after
        sha256 spki_sha256 leaf chain_sha256 ca_reference tbs_sha256 sct_at revoked_at revocation_reason`,
      update: 'is_current ca_revoked_at tbs_sha256 sct_at',
    },
    certificate_authority: {
      select: '*',
      update: 'down_until problem outcome down_since down_for',
    },
    certificate_chain: { select: '*', insert: '*' },
    challenge_file: {
      select: 'token account_id content expires_at',
      insert: '*',
      update: 'content expires_at',
      delete: true,
    },
    challenge_record: {
      select: 'label value expires_at integration_id attempted_at record_handle',
      insert: 'label value account_id dns_name expires_at integration_id',
      update: 'expires_at integration_id attempted_at record_handle',
      delete: true,
    },
    charge: {
      select: `
        id account_id plan_id issuance_id kind product names wildcards paid_through before cents currency
        created_at refunded_at`,
      insert: `
        account_id plan_id made_for_issuance_id issuance_id kind product names wildcards paid_through before
        cents currency`,
      update: 'issuance_id refunded_at',
    },
    delegation: { select: 'account_id dns_name label retired_at', update: 'retired_at' },
    deployment: {
      select: 'id mode held_since hold_reason timeline timeline_seen_at',
      insert: 'mode',
      update: 'held_since hold_reason timeline timeline_seen_at',
    },
    dns_integration: {
      select: `
        id account_id provider handle state problem outcome checked_at zones_due_at failures lease_token
        leased_until created_at deleted_at`,
      update: 'handle state problem outcome checked_at zones_due_at failures lease_token leased_until',
    },
    dns_integration_zone: { select: '*', insert: '*', update: 'zone_id', delete: true },
    email_approval: {
      select: 'id plan_id dns_name address asked_at asked_again approved_at',
      insert: 'account_id plan_id dns_name address',
      update: 'address asked_at asked_again',
    },
    email_approval_token: { select: 'expires_at', delete: true },
    expiration_notice: {
      select: 'certificate_id threshold_days',
      insert: 'certificate_id threshold_days',
    },
    http_challenge: { select: '*', insert: '*', update: 'token content expires_at', delete: true },
    idempotency_record: { select: 'created_at', delete: true },
    invoice: {
      select: 'number charge_id',
      insert: 'number account_id charge_id lines total_cents currency note email_to issued_at',
      update: 'refunded_at',
    },
    issuance: {
      select: '*',
      insert: `
        plan_id account_id terms_id revision replaces_certificate_id state approvals due_at expires_by`,
      update: `
        state approvals ca_reference failures last_error due_at lease_token leased_until closed_at hastened
        waits_for`,
    },
    key_request: {
      select: 'plan_id reason due_at falls_back_at',
      insert: 'plan_id id reason due_at falls_back_at',
      delete: true,
    },
    ledger_entry: { insert: 'account_id kind cents currency charge_id note' },
    log_submission: {
      select: 'certificate_id log_url due_at attempts sct',
      insert: 'certificate_id log_url',
      update: 'due_at attempts last_error sct logged_at',
      delete: true,
    },
    mail: {
      select: 'id kind recipient facts state created_at',
      insert: 'account_id kind recipient facts state due_at',
    },
    order_v3: { select: 'plan_id account_id dns_names' },
    // created_at: row locks need a column.
    outbox: { select: '*', insert: 'job job_id payload traceparent', update: 'created_at', delete: true },
    plan: {
      select: `
        id account_id terms_id revision auto_renew muted paused closed_at current_version announced_version
        renew_at owner paid_through paid_product paid_names paid_wildcards replacement_paid
        new_key_at_renewal`,
      update: `
        current_version announced_version renew_at paid_through paid_product paid_names paid_wildcards
        replacement_paid`,
    },
    product: { select: '*' },
    renewal_info: {
      select: 'certificate_id authority ari_id window_start window_end due_at failures',
      insert: 'certificate_id authority ari_id due_at',
      update: 'window_start window_end explanation_url due_at failures',
      delete: true,
    },
    revocation_attempt: {
      select: 'certificate_id failures due_at refused problem outcome',
      insert: 'certificate_id failures due_at refused problem outcome',
      update: 'failures due_at refused problem outcome',
      delete: true,
    },
    terms: {
      select: 'id product dns_names key_type csr spki_sha256 approver_emails approval_ways',
    },
    web_rule: { select: '*', insert: '*', update: 'account_id' },
    webhook_endpoint: { select: 'account_id enabled' },
  },
  functions: ['random_id()'],
  session: sessionSettings({ statementTimeoutMs: 10_000 }),
};
