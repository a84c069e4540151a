import type { RoleGrants } from '@certwright/postgres';

/** Matches the index of public certificates with monitored domains: reads keys and digests of certificates, and no secret. */
export const monitoringWorker: RoleGrants = {
  tables: {
    monitoring_task: { select: '*', update: 'lease_token leased_until' },
  },
};
