import type { RoleGrants } from '@certwright/postgres';

/** The monitoring API: what accounts monitor. It adds to the record of changes and cannot read or change it. */
export const monitoring: RoleGrants = {
  tables: {
    // created_at: row locks need a column.
    account: { select: 'id disabled_at max_monitored_domains', update: 'created_at' },
    api_key: { select: 'id account_id secret_sha256 permissions disabled_at' },
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
    monitoring_settings: { select: '*', insert: '*', update: '*' },
  },
};
