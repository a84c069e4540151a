import type { RoleGrants } from '@certwright/postgres';

/** The monitoring API: what accounts monitor. It adds to the record of changes and cannot read or change it. */
export const monitoring: RoleGrants = {
  tables: {
    // created_at: row locks need a column.
    account: { select: 'id disabled_at max_monitored_domains', update: 'created_at' },
    api_key: { select: 'id account_id secret_sha256 permissions disabled_at' },
    cert_object_v2: { select: 'plan_id cn' },
    deployment: { select: 'mode', insert: 'mode' },
    known_cert: { select: '*', insert: 'id account_id tbs_sha256 note', update: 'note', delete: true },
    known_key: {
      select: '*',
      insert: 'id account_id spki_sha256 dns_names dns_names_sha256 note',
      update: 'note',
      delete: true,
    },
    monitored_domain: {
      select: 'account_id name enabled',
      insert: 'account_id name enabled',
      update: 'enabled',
      delete: true,
    },
    monitoring_change: {
      insert: 'transaction_id account_id api_key_id object name action before after',
    },
    monitoring_finding: {
      select: `
        account_id tbs_sha256 position spki_sha256 state reason plan_id endpoints endpoint_count alert found_at source
        alerted_at acknowledged_at acknowledged_by note`,
      update: 'state reason note classify_at alert_due_at mail_due acknowledged_at acknowledged_by',
    },
    monitoring_finding_domain: { select: '*' },
    monitoring_settings: { select: '*', insert: '*', update: '*' },
    order_v3: { select: 'plan_id name' },
    webhook_delivery: { select: 'account_id subject state', update: 'state finished_at' },
  },
};
