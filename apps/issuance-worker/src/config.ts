import {
  boolean,
  defineSettings,
  durationMs,
  filePath,
  hostPort,
  integer,
  oneOf,
  processSettings,
  type SettingValues,
  string,
  url,
} from '@certwright/service';

/** Every setting of the issuance worker. */
export const settings = defineSettings({
  ...processSettings({ opsPort: 4321 }),
  CERTWRIGHT_MODE: oneOf(['sandbox', 'production'], {
    meaning:
      'Which deployment this is; the database remembers it. In a sandbox the built-in CA issues everything',
  }),
  DATABASE_URL: url({ schemes: ['postgres', 'postgresql'], meaning: 'The core database' }),
  DATABASE_POOL_SIZE: integer({
    meaning: 'Connections to the database at most; more than JOB_CONCURRENCY, or jobs wait for each other',
    unit: 'connections',
    min: 2,
    max: 200,
    default: 20,
  }),
  REDIS_URL: url({
    schemes: ['redis', 'rediss'],
    meaning: 'Where nudges are queued; losing it costs time, never work',
  }),
  JOB_CONCURRENCY: integer({
    meaning: 'Issuances advanced side by side',
    unit: 'jobs',
    min: 1,
    max: 100,
    default: 16,
  }),
  DNS_RESOLVER: hostPort({
    meaning:
      'The recursive resolver that standing approval records are looked up at; it should validate DNSSEC',
  }),
  APPROVAL_ZONE: string({
    meaning: 'The zone in which the targets of standing approval records lie; the same for every process',
    pattern: /^(?=.{1,200}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/,
  }),
  PROBE_TIMEOUT: durationMs({
    meaning:
      'How long the prober may take to look at one web server, redirects included; then the name counts as not approved for now',
    minMs: 100,
    maxMs: 3_500,
    default: 3_000,
  }),
  APPROVAL_REUSE_DAYS: integer({
    meaning:
      'How long an approval counts. Public CAs are bound to 200 days since 2026-03-15, 100 from 2027-03-15, 10 from 2029-03-15',
    unit: 'days',
    min: 1,
    max: 200,
    default: 200,
  }),
  BUILT_IN_CA: boolean({
    meaning:
      'Whether this deployment has its built-in CA: always in a sandbox; in production only where a private CA is wanted',
    default: false,
  }),
  BUILT_IN_CA_DIR: filePath({
    meaning: 'Folder of the private keys of the built-in CA (mode 0600); shared by all copies of the worker',
    default: 'ca',
  }),
  BUILT_IN_CA_NAME: string({
    meaning: 'Organisation in the subjects of the built-in CA; used when it is created',
    pattern: /^[\p{L}\p{N} '.,()+-]{1,48}$/u,
    default: 'Certwright Sandbox',
  }),
  CA_PUBLICATION_URL: url({
    schemes: ['http'],
    meaning:
      'Where certificates and revocation lists of the built-in CA are published; http, and part of what is issued',
  }),
});

export type Config = SettingValues<typeof settings.table>;

export const config = (): Config => settings.read(process.env);
