import type { RoleGrants } from '@certwright/postgres';

/** Matches the index of public certificates with monitored domains: reads keys and digests of certificates, and no secret. */
export const monitoringWorker: RoleGrants = {
  tables: {
    account: { select: 'id disabled_at max_findings_per_day max_monitored_endpoints' },
    certificate: { select: 'account_id plan_id dns_names spki_sha256 tbs_sha256 created_at' },
    issuance: { select: 'plan_id terms_id state' },
    known_cert: { select: 'account_id tbs_sha256' },
    known_key: { select: 'account_id spki_sha256 dns_names created_at' },
    monitored_endpoint: {
      select: 'account_id dns_name last_not_after',
      insert: 'account_id dns_name last_not_after',
      update: 'last_not_after',
    },
    monitored_name: { select: '*', insert: '*', update: 'tbs_sha256 position' },
    monitoring_account: { select: '*', insert: 'account_id', update: 'found_on found throttled overflow_on' },
    monitoring_finding: { select: '*', insert: '*' },
    monitoring_settings: { select: '*' },
    monitoring_task: { select: '*', update: 'lease_token leased_until' },
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
