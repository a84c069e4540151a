import type { RoleGrants } from '@certwright/postgres';

/** Matches the index of public certificates with monitored domains: reads keys and digests of certificates, and no secret. */
export const monitoringWorker: RoleGrants = {
  tables: {
    account: { select: 'id contact_email disabled_at' },
    account_user: { select: 'id account_id email disabled_at' },
    cert_object_v2: { select: 'plan_id cn' },
    certificate: {
      select: `
        id account_id plan_id imported dns_names not_after sha256 spki_sha256 tbs_sha256 sct_at sighted_at
        not_logged_at`,
      update: 'sighted_at not_logged_at',
    },
    issuance: {
      select: 'id plan_id account_id terms_id state ca_reference opened_at closed_at strays_checked',
      update: 'strays_checked',
    },
    mail: { select: 'id', insert: 'account_id kind recipient facts state due_at' },
    monitoring_checkpoint: { select: 'position created_at' },
    monitoring_task: { select: '*', update: 'lease_token leased_until' },
    order_v3: { select: 'plan_id name' },
    outbox: { insert: 'job job_id payload' },
    plan: { select: 'id account_id owner' },
    stray_certificate: {
      select: 'tbs_sha256',
      insert: 'account_id tbs_sha256 issuance_id problem',
    },
    terms: { select: 'id plan_id dns_names spki_sha256' },
    webhook_delivery: {
      select: 'id endpoint_id subject replay_of state attempts due_at created_at',
      insert: 'id account_id endpoint_id version subject event body state due_at',
    },
    webhook_endpoint: { select: 'id account_id enabled events' },
  },
};
