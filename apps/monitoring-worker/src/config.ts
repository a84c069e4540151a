import {
  baseUrl,
  databaseUrl,
  defineSettings,
  durationMs,
  filePath,
  integer,
  oneOf,
  poolerSettings,
  processSettings,
  redisSettings,
  type SettingValues,
  string,
} from '@certwright/service';

/** Every setting of monitoring-worker. */
export const settings = defineSettings({
  ...processSettings({ opsPort: 4319 }),
  DATABASE_URL: databaseUrl({ meaning: 'The core database' }),
  ...poolerSettings,
  DATABASE_POOL_SIZE: integer({
    meaning: 'Max connections to the core database',
    unit: 'connections',
    min: 2,
    max: 50,
    default: 8,
  }),
  CT_DATABASE_URL: databaseUrl({ meaning: 'The ct database, with the index of public certificates' }),
  CT_DATABASE_POOL_SIZE: integer({
    meaning: 'Max connections to the ct database',
    unit: 'connections',
    min: 2,
    max: 50,
    default: 6,
  }),
  ...redisSettings({
    meaning: 'Carries wake-ups and questions to the prober; losing it costs time, never work',
  }),
  SEARCH_URL: baseUrl({
    meaning: 'How people reach the search API, without /v1: links to certificates in alerts begin with it',
    default: 'http://127.0.0.1:4314',
  }),
  LEASE_TIME: durationMs({
    meaning: 'After which another copy takes over the work of one that stopped without notice',
    minMs: 500,
    maxMs: 300_000,
    default: 15_000,
  }),
  NOT_LOGGED_AFTER: durationMs({
    meaning:
      'How long a certificate that was issued here may have an SCT without being in the index, before its account and the operator are notified; longer while a log lags',
    minMs: 60_000,
    maxMs: 30 * 24 * 60 * 60 * 1_000,
    default: 24 * 60 * 60 * 1_000,
  }),
  CT_INDEX_SCOPE: oneOf(['all', 'monitored'], {
    meaning: 'As for ct-ingest. monitored: a certificate that is not in the index is not reported',
    default: 'all',
  }),
  ENDPOINT_CHECK_EVERY: durationMs({
    meaning:
      'Time between two checks of an endpoint, with a tenth of jitter; a name that is gone for a week is checked weekly',
    minMs: 1_000,
    maxMs: 7 * 24 * 60 * 60 * 1_000,
    default: 6 * 60 * 60 * 1_000,
  }),
  ENDPOINT_CONFIRM_EVERY: durationMs({
    meaning:
      'The same while a problem, or its end, is not confirmed by three checks, with a ninth of jitter: 8 to 10 minutes; another value for a sandbox',
    minMs: 100,
    maxMs: 60 * 60 * 1_000,
    default: 9 * 60 * 1_000,
  }),
  ENDPOINT_CHECKS_AT_ONCE: integer({
    meaning:
      'Hosts that prober looks at for this process at the same time; each takes up to 20 s. Less than half of PROBE_CONCURRENCY, of all copies of prober together: an issuance waits for other questions',
    unit: 'hosts',
    min: 1,
    max: 1_000,
    default: 30,
  }),
  ENDPOINT_CHECKS_PER_SECOND: integer({
    meaning:
      'Max hosts that a look begins at per second, also after an outage: 50 are a million in 6 h; an even load of 100,000 endpoints is 5',
    unit: 'hosts per second',
    min: 1,
    max: 10_000,
    default: 50,
  }),
  TRUSTED_ROOTS_FILE: filePath({
    meaning:
      'Certificates (PEM) of CAs that visitors trust besides the roots of Mozilla that Node.js contains, such as a private CA; read again when it changes. Endpoints are not checked while it cannot be read; empty: none',
    default: null,
  }),
  OPERATOR_MAIL: string({
    meaning:
      'Mail address that is notified when reports about endpoints are held back; empty: only the log has it',
    pattern: /^[^\s@]+@[^\s@]+$/,
    default: null,
  }),
});

export type Config = SettingValues<typeof settings.table>;

/** Injection token of the configuration. */
export const Config = Symbol('MonitoringWorkerConfig');

/** @throws SettingsError */
export const config = (): Config => settings.read(process.env);
