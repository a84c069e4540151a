import { type RoleGrants, sessionSettings } from '@certwright/postgres';

/** The certificate API: opens and cancels issuances, and never issues. */
export const certsV2: RoleGrants = {
  tables: {
    account: {
      select: '*',
      update: 'country state locality organization mail_when_issued mail_when_revoked',
    },
    account_balance: { select: '*', update: 'balance_cents last_invoice' },
    account_user: { select: 'id account_id email password_hash disabled_at' },
    api_credential: {
      select: '*',
      insert: 'account_id api_key_id key_sealed',
      update: 'api_key_id key_sealed created_at',
    },
    api_key: {
      select: 'id account_id secret_sha256 permissions disabled_at',
      insert: 'account_id label secret_sha256 permissions',
    },
    approval_record: {
      select: `
        id account_id integration_id dns_name zone_name state attempted_at added_at record_handle stopped_at
        problem outcome failures due_at asks`,
      update: 'due_at asks', // language: a column
    },
    approval_record_use: { select: '*' },
    blocked_key: { select: 'spki_sha256 account_id reason' },
    cert_object_v2: {
      select: 'plan_id account_id cn type approval_method approver_email sans tags csr spki_sha256 key_type',
      insert: 'plan_id account_id cn type approval_method approver_email sans tags csr spki_sha256 key_type',
      update: 'type approval_method approver_email sans tags csr spki_sha256 key_type',
    },
    certificate: {
      select: `
        id account_id plan_id issuance_id is_current dns_names key_type not_before not_after sha256
        spki_sha256 leaf chain_sha256 revoked_at created_at ca_revoked_at imported`,
      insert: `
        id account_id plan_id is_current dns_names key_type serial_number not_before not_after sha256
        spki_sha256 leaf chain_sha256 imported tbs_sha256 sct_at`,
      update: 'is_current revoked_at revocation_reason',
    },
    certificate_chain: { select: '*', insert: '*' },
    charge: {
      select: `
        id account_id plan_id made_for_issuance_id issuance_id kind product names wildcards paid_through
        before cents currency refunded_at`,
      insert: `
        account_id plan_id made_for_issuance_id issuance_id kind product names wildcards paid_through before
        cents currency`,
      update: 'issuance_id refunded_at',
    },
    delegation: {
      select: 'account_id dns_name label retired_at',
      insert: 'account_id dns_name label',
      update: 'retired_at',
    },
    deployment: { select: 'id mode', insert: 'mode' },
    dns_integration: { select: 'id state created_at deleted_at' },
    dns_integration_zone: { select: 'integration_id name account_id' },
    email_approval: {
      select: 'plan_id dns_name address asked_at approved_at',
      update: 'asked_again',
    },
    http_challenge: { select: '*', insert: '*', update: 'token content expires_at' },
    idempotency_record: {
      select: '*',
      insert: 'account_id request_sha256 body_sha256 status headers body',
      update: 'body_sha256 status headers body created_at',
    },
    invoice: {
      select: '*',
      insert: 'number account_id charge_id lines total_cents currency note email_to issued_at',
      update: 'refunded_at',
    },
    issuance: {
      select: `
        id plan_id account_id terms_id state approvals last_error opened_at due_at lease_token public_id
        expires_by ca_reference`,
      insert: 'plan_id account_id terms_id revision state approvals due_at expires_by',
      update: 'terms_id state approvals due_at lease_token leased_until closed_at hastened', // language: a column
    },
    ledger_entry: { insert: 'account_id kind cents currency charge_id note' },
    mail: {
      select: 'id kind recipient state created_at',
      insert: 'account_id kind recipient facts state due_at',
    },
    outbox: { insert: 'job job_id payload' },
    plan: {
      select: `
        id account_id terms_id revision auto_renew muted download_token closed_at current_version
        announced_version owner paid_through paid_product paid_names paid_wildcards replacement_paid`,
      insert: 'account_id revision auto_renew muted paused download_token owner',
      update: `
        terms_id revision auto_renew muted paused closed_at current_version announced_version renew_at
        paid_through paid_product paid_names paid_wildcards replacement_paid`,
    },
    product: { select: '*' },
    terms: {
      select: 'id plan_id product dns_names key_type csr spki_sha256 approval_ways owner_facts',
      insert: 'plan_id product dns_names key_type csr spki_sha256 approver_emails approval_ways owner_facts',
    },
    web_rule: { select: '*', insert: '*', update: 'account_id' },
    webhook_delivery: {
      select: 'id endpoint_id plan_id version replay_of state',
      insert: 'id account_id endpoint_id plan_id version replay_of event body state due_at',
      update: 'state finished_at',
    },
    webhook_endpoint: { select: 'id account_id enabled events' },
  },
  functions: ['random_id()'],
  session: sessionSettings({ statementTimeoutMs: 15_000 }),
};
