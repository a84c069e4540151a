import { type RoleGrants, sessionSettings } from '@certwright/postgres';

/** Writes the index, and makes, shrinks and drops its partitions by functions. */
export const ctIngest: RoleGrants = {
  tables: {
    ct_block: {
      select: 'first_key first_position run shard postings',
      insert: '*',
      delete: true,
    },
    ct_crl: {
      select: '*',
      insert: 'issuer url host role needed_until',
      update: `
        role due_at failures last_error etag last_modified content_sha256 number this_update next_update
        covers entries checked_at fresh_until needed_until`,
      delete: true,
    },
    ct_crl_host: {
      select: '*',
      insert: 'host',
      update: 'lease_token leased_until rests_until failures',
    },
    ct_issuance: {
      select: 'position tbs_sha256 precertificate not_after',
      insert: '*',
      update: 'cert_sha256 precertificate body',
      delete: true,
    },
    ct_issuer: {
      select: 'id spki_sha256 name_sha256 name_der spki_der certificate_der',
      insert: 'spki_sha256 name_sha256 name_der spki_der certificate_der',
      update: 'spki_der certificate_der',
    },
    ct_issuer_profile: {
      select: '*',
      insert: `
        organization friendly_name website caa_domains operator_name operator_website problem_reporting as_of
        source`,
      update: `
        spki_sha256 friendly_name website caa_domains operator_name operator_website problem_reporting as_of
        source`,
    },
    ct_known: { select: '*', insert: '*', delete: true },
    ct_log: {
      select: '*',
      insert: `
        log_id description operator kind url key_der mmd_s interval_start interval_end list_state enabled
        origin`,
      update: `
        description operator kind url mmd_s interval_start interval_end list_state enabled stopped_at
        stopped_reason start_index position tree_state head_size head_root head_at head_signed verified_size
        entries_odd failures last_error due_at lease_token leased_until ingested_at origin entry_at
        entries_per_second`,
    },
    ct_log_evidence: {
      select: '*',
      insert: `
        log kind problem url head_size head_root head_at head_signed kept_signed computed_size computed_root
        proof`,
      update: 'tried_at',
      delete: true,
    },
    ct_odd_entry: { select: 'log entry_index', insert: '*', delete: true },
    ct_partition: { select: '*', delete: true },
    ct_revocation: { select: '*', insert: '*', update: 'revoked_at reason', delete: true },
    ct_run: { select: '*', insert: '*', delete: true },
    ct_sequence: { select: 'next', update: 'next' },
    ct_unverified: { select: '*', insert: '*', delete: true },
    ct_vouched: { select: '*', insert: '*', delete: true },
    ct_watched_name: { select: 'name' },
    ct_watched_version: { select: 'version' },
  },
  functions: [
    'ct_make_positions(bigint,bigint)',
    'ct_make_known(timestamp with time zone)',
    'ct_drop_partition(text)',
    'ct_shrink_partition(bigint,bigint[])',
  ],
  sequences: ['ct_run_id_seq'],
  temporaryTables: true,
  session: sessionSettings({ statementTimeoutMs: 60_000 }),
};
