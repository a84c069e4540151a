import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which revocation lists there are, their entries, and what is known of issuers beside their certificates. */
export class CtRevocation1795651200000 implements MigrationInterface {
  readonly name = 'CtRevocation1795651200000';

  async up(queryRunner: QueryRunner): Promise<void> {
    for (const statement of up) await queryRunner.query(statement);
    for (const [column, comment] of Object.entries(comments))
      await queryRunner.query(`COMMENT ON COLUMN ${column} IS '${comment}'`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const statement of down) await queryRunner.query(statement);
  }
}

const up = [
  `CREATE TABLE ct_crl (
      id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
      issuer integer NOT NULL,
      url text NOT NULL,
      host text NOT NULL,
      needed_until TIMESTAMP WITH TIME ZONE,
      role text,
      due_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      failures integer NOT NULL DEFAULT '0',
      last_error text,
      etag text,
      last_modified text,
      content_sha256 bytea,
      number numeric,
      this_update TIMESTAMP WITH TIME ZONE,
      next_update TIMESTAMP WITH TIME ZONE,
      covers boolean NOT NULL DEFAULT false,
      entries integer NOT NULL DEFAULT '0',
      checked_at TIMESTAMP WITH TIME ZONE,
      fresh_until TIMESTAMP WITH TIME ZONE,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      CONSTRAINT ct_crl_role CHECK (role IN ('full', 'partition')),
      CONSTRAINT ct_crl_pkey PRIMARY KEY (id)
    )`,
  `CREATE UNIQUE INDEX ct_crl_issuer_url ON ct_crl (issuer, url)`,
  `CREATE INDEX ct_crl_due ON ct_crl (host, due_at)`,
  `CREATE INDEX ct_crl_disclosed ON ct_crl (issuer) WHERE role IS NOT NULL`,
  `ALTER TABLE ct_crl ADD CONSTRAINT ct_crl_issuer FOREIGN KEY (issuer) REFERENCES ct_issuer (id)`,
  // Only the leaseholder of a host sends requests to it.
  `CREATE TABLE ct_crl_host (
      host text NOT NULL,
      lease_token bigint NOT NULL DEFAULT '0',
      leased_until TIMESTAMP WITH TIME ZONE,
      rests_until TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now(),
      failures integer NOT NULL DEFAULT '0',
      CONSTRAINT ct_crl_host_pkey PRIMARY KEY (host)
    )`,
  `CREATE TABLE ct_revocation (
      issuer integer NOT NULL,
      serial bytea NOT NULL,
      crl integer NOT NULL,
      revoked_at TIMESTAMP WITH TIME ZONE NOT NULL,
      reason smallint NOT NULL,
      CONSTRAINT ct_revocation_pkey PRIMARY KEY (issuer, serial, crl)
    )`,
  `CREATE INDEX ct_revocation_crl ON ct_revocation (crl)`,
  `CREATE TABLE ct_issuer_profile (
      id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
      organization text,
      spki_sha256 bytea,
      subject_key_id bytea,
      certificates bytea[] NOT NULL DEFAULT '{}',
      friendly_name text,
      website text,
      caa_domains text[],
      operator_name text,
      operator_website text,
      problem_reporting text,
      full_crls text[] NOT NULL DEFAULT '{}',
      partitioned_crls text[] NOT NULL DEFAULT '{}',
      as_of date NOT NULL,
      source text NOT NULL,
      CONSTRAINT ct_issuer_profile_pkey PRIMARY KEY (id)
    )`,
  `CREATE UNIQUE INDEX ct_issuer_profile_organization ON ct_issuer_profile (organization)`,
  `CREATE UNIQUE INDEX ct_issuer_profile_spki_sha256 ON ct_issuer_profile (spki_sha256)`,
  `CREATE UNIQUE INDEX ct_issuer_profile_subject_key_id ON ct_issuer_profile (subject_key_id)`,
  `ALTER TABLE ct_issuance ADD COLUMN crl integer`,
];

const comments = {
  'ct_issuance.crl': 'the list that the certificate names; null: none',
  'ct_crl.issuer': 'whose key signs it: one URL that certificates of two issuers name is two lists',
  'ct_crl.needed_until': 'no certificate that names it is valid after that; null: none names it',
  'ct_crl.role': 'of what the profile of its issuer names: the full list, or one of those that together are',
  'ct_crl.failures': 'failures in a row',
  'ct_crl.content_sha256': 'SHA-256 over the whole list as applied',
  'ct_crl.number': 'CRL number (RFC 5280, 5.2.3)',
  'ct_crl.covers': 'whether a certificate in its scope that is not on it is good',
  'ct_crl.entries': 'rows of ct_revocation',
  'ct_crl.checked_at': 'when its issuer last stood by it, by a new list or by saying that nothing changed',
  'ct_crl.fresh_until': 'next_update and the grace that the setting allows',
  'ct_crl_host.host': 'host and port',
  'ct_crl_host.lease_token': 'fencing token',
  'ct_crl_host.leased_until': 'by the clock of the database',
  'ct_crl_host.failures': 'failures in a row',
  'ct_revocation.serial': 'as in ct_issuance',
  'ct_revocation.reason': 'RFC 5280, 5.3.1; 0 where none is given',
  'ct_issuer_profile.organization':
    'for issuers with this organization in their name and no profile of their key',
  'ct_issuer_profile.spki_sha256':
    'SHA-256 over the DER SubjectPublicKeyInfo; null while the key is not known',
  'ct_issuer_profile.subject_key_id': 'by which a key is recognised of which only a digest is known',
  'ct_issuer_profile.certificates': 'SHA-256 over each DER certificate with the key',
  'ct_issuer_profile.as_of': 'the day of the source',
} as const;

const down = [
  `ALTER TABLE ct_issuance DROP COLUMN crl`,
  `DROP TABLE ct_issuer_profile`,
  `DROP TABLE ct_revocation`,
  `DROP TABLE ct_crl_host`,
  `DROP TABLE ct_crl`,
];
