import type { RoleGrants } from '@certwright/postgres';

/** Only reads. */
export const ctSearch: RoleGrants = {
  tables: {
    ct_block: { select: '*' },
    ct_crl: { select: 'id issuer role covers checked_at fresh_until' },
    ct_issuance: { select: '*' },
    ct_issuer: { select: 'id spki_sha256 name_der spki_der' },
    ct_issuer_profile: {
      select: `
        organization spki_sha256 friendly_name website caa_domains operator_name operator_website
        problem_reporting`,
    },
    ct_log: {
      select: `
        id log_id description operator kind url mmd_s interval_end list_state enabled stopped_at
        stopped_reason start_index position head_size head_at verified_size entries_odd last_error ingested_at
        created_at entry_at entries_per_second`,
    },
    ct_revocation: { select: '*' },
    ct_run: { select: 'id home partition from_position to_position postings filter_id filter' },
    ct_sequence: { select: 'next' },
  },
};
