import type { RoleGrants } from '@certwright/postgres';

/** Reads the index and the entries that cannot be read. */
export const monitoringWorker: RoleGrants = {
  tables: {
    ct_issuer: { select: 'id spki_sha256' },
    ct_sequence: { select: 'next' },
  },
};
