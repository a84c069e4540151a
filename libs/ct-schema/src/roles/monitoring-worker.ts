import { type RoleGrants, sessionSettings } from '@certwright/postgres';

/** Reads the index and the entries that cannot be read, and writes the names that accounts monitor. */
export const monitoringWorker: RoleGrants = {
  tables: {
    ct_block: { select: '*' },
    ct_crl: { select: 'id fresh_until' },
    ct_issuance: { select: '*' },
    ct_issuer: { select: 'id spki_sha256 name_sha256 name_der spki_der certificate_der' },
    ct_issuer_profile: {
      select: `
        organization spki_sha256 friendly_name website caa_domains operator_name operator_website
        problem_reporting`,
    },
    ct_known: { select: '*' },
    ct_log: {
      select: `
        id log_id description mmd_s interval_end list_state enabled start_index position head_size head_at created_at
        entry_at`,
    },
    ct_odd_entry: { select: '*' },
    ct_revocation: { select: 'issuer serial crl revoked_at' },
    ct_run: { select: 'id home partition from_position to_position postings' },
    ct_sequence: { select: 'next' },
    ct_watched_name: { select: '*', insert: 'name', delete: true },
    ct_watched_version: { select: 'version', update: 'version' },
  },
  session: sessionSettings({ statementTimeoutMs: 20_000 }),
};
