import { type RoleGrants, sessionSettings } from '@certwright/postgres';

/** The order API: opens and cancels issuances, and never issues. */
export const ordersV3: RoleGrants = {
  tables: {
    // created_at: row locks need a column.
    account: { select: 'id contact_email disabled_at', update: 'created_at' },
    account_balance: {
      select: '*',
      update: 'balance_cents last_invoice',
    },
    account_user: { select: 'id account_id email disabled_at' },
    agent: {
      select: '*',
      insert:
        'id account_id cluster identity_key sealing_key statement enrolment_id name version platform last_seen_at',
      delete: true,
      update: 'version platform removed_at last_seen_at clock_offset_s problem report_number',
    },
    api_key: { select: 'id account_id secret_sha256 permissions disabled_at' },
    approval_record: {
      select: 'id integration_id dns_name state stopped_at problem outcome failures due_at asks', // language: a column
      update: 'state failures due_at asks', // language: a column
    },
    approval_record_use: { select: '*', delete: true },
    blocked_key: {
      select: 'spki_sha256 account_id reason',
      insert: 'spki_sha256 reason account_id',
    },
    ca_issuer: { select: 'name certificate crl' },
    certificate: {
      select: `
        id account_id plan_id issuance_id is_current dns_names key_type not_before not_after sha256 spki_sha256 leaf
        chain_sha256 revoked_at revocation_reason created_at imported`,
      update: 'is_current revoked_at revocation_reason ca_revoked_at',
    },
    certificate_chain: { select: '*' },
    charge: {
      select: `
        id account_id plan_id issuance_id kind product names wildcards paid_through before cents currency
        refunded_at`,
      insert: `
        account_id plan_id made_for_issuance_id issuance_id kind product names wildcards paid_through before
        cents currency`,
      update: 'issuance_id refunded_at',
    },
    cluster: {
      select: `
        account_id name created_at cluster_key rotate_keys version members_version reset_before seals_missing`,
      insert: 'account_id name cluster_key rotate_keys',
      update: 'cluster_key rotate_keys version reset_before seals_missing',
      delete: true,
    },
    cluster_enrolment: {
      select: '*',
      insert: 'account_id cluster token_sha256 uses expires_at',
      update: 'used revoked_at',
      delete: true,
    },
    cluster_release: { select: '*', delete: true },
    delegation: {
      select: 'account_id dns_name label retired_at',
      insert: 'account_id dns_name label',
      update: 'retired_at',
    },
    deployment: { select: 'id mode', insert: 'mode' },
    dns_integration: {
      select: '*',
      insert: 'id account_id provider description handle state checked_at zones_due_at',
      update: `
        handle state problem outcome checked_at zones_due_at failures lease_token leased_until deleted_at`,
    },
    dns_integration_zone: { select: '*', insert: '*', update: 'zone_id', delete: true },
    email_approval: {
      select: 'id plan_id dns_name address asked_at asked_again approved_at',
      update: 'asked_again',
    },
    idempotency_record: {
      select: '*',
      insert: '*',
      update: 'body_sha256 status headers body created_at',
      delete: true,
    },
    installation: {
      select: '*',
      insert: 'plan_id agent_id point state certificate_sha256 served since problem',
      update: 'state certificate_sha256 served since problem updated_at',
      delete: true,
    },
    invoice: {
      select: 'number charge_id',
      insert: 'number account_id charge_id lines total_cents currency note email_to issued_at',
      update: 'refunded_at',
    },
    issuance: {
      select: '*',
      insert: `
        plan_id account_id terms_id revision replaces_certificate_id state approvals due_at expires_by`,
      update: 'state due_at lease_token leased_until closed_at hastened', // language: a column
    },
    key_request: {
      select: '*',
      insert: 'plan_id id reason due_at',
      update: 'agent_id assigned_until due_at unpaid_at',
      delete: true,
    },
    ledger_entry: { insert: 'account_id kind cents currency charge_id note' },
    mail: { select: 'id', insert: 'account_id kind recipient facts state due_at' },
    managed_key: {
      select: '*',
      insert: 'account_id cluster spki_sha256 plan_id made_by task_id csr_sha256 revision',
      update: 'sealer seal_until seal_version',
      delete: true,
    },
    monitored_endpoint: {
      select: 'account_id dns_name muted ports state state_since looked_at findings served',
    },
    order_v3: {
      select: `
        plan_id account_id name dns_names approver_emails cluster product key_type csr spki_sha256 agent_version`,
      insert: 'plan_id account_id name dns_names approver_emails cluster product key_type csr spki_sha256',
      update: 'dns_names approver_emails cluster product key_type csr spki_sha256',
      delete: true,
    },
    outbox: { insert: 'job job_id payload' },
    plan: {
      select: `
        id account_id terms_id revision auto_renew muted paused download_token closed_at current_version
        announced_version renew_at owner paid_through paid_product paid_names paid_wildcards replacement_paid
        makes_keys new_key_at_renewal`,
      insert: 'account_id revision auto_renew muted paused download_token owner',
      update: `
        terms_id revision auto_renew muted paused closed_at current_version announced_version renew_at
        paid_through paid_product paid_names paid_wildcards replacement_paid new_key_at_renewal`,
    },
    product: { select: '*' },
    rollout: {
      select: '*',
      insert: 'plan_id certificate_sha256 first_agent first_since',
      update: `
        certificate_sha256 begun_at first_agent first_since turns broken served_at stopped_at stop_noticed_at
        noticed_at`,
    },
    sealed_key: {
      select: '*',
      insert: 'account_id cluster spki_sha256 receiver sender enc ciphertext signature',
      delete: true,
    },
    terms: {
      select: 'id plan_id product dns_names spki_sha256 approval_ways',
      insert: 'plan_id product dns_names key_type csr spki_sha256 approver_emails approval_ways owner_facts',
    },
    web_rule: { select: '*', insert: '*', update: 'account_id' },
    webhook_attempt: { select: '*' },
    webhook_delivery: {
      select: `
        id account_id endpoint_id plan_id version replay_of subject event body state attempts due_at created_at
        finished_at`,
      insert: 'id account_id endpoint_id plan_id version replay_of subject event body state due_at',
      update: 'state finished_at',
    },
    webhook_endpoint: {
      select: '*',
      insert: 'id account_id url credentials_sealed secret_sealed description enabled events',
      update: `
        url credentials_sealed secret_sealed previous_secret_sealed previous_secret_until older_secrets_sealed
        older_secrets_until description enabled events disabled_reason failing_since failed_at`,
      delete: true,
    },
  },
  functions: ['random_id()', 'order_is_seen_by_agents(bigint)'],
  session: sessionSettings({ statementTimeoutMs: 15_000 }),
};
