import {
  boolean,
  defineSettings,
  durationMs,
  integer,
  oneOf,
  processSettings,
  type SettingValues,
  string,
  url,
} from '@certwright/service';

/** Every setting of monitoring-worker. */
export const settings = defineSettings({
  ...processSettings({ opsPort: 4319 }),
  DATABASE_URL: url({ schemes: ['postgres', 'postgresql'], meaning: 'The core database' }),
  DATABASE_POOL_SIZE: integer({
    meaning: 'Max connections to the core database',
    unit: 'connections',
    min: 2,
    max: 50,
    default: 8,
  }),
  CT_DATABASE_URL: url({
    schemes: ['postgres', 'postgresql'],
    meaning: 'The ct database, with the index of public certificates',
  }),
  CT_DATABASE_POOL_SIZE: integer({
    meaning: 'Max connections to the ct database',
    unit: 'connections',
    min: 2,
    max: 50,
    default: 6,
  }),
  CT_DATABASE_SHARDED: boolean({
    meaning:
      'Tables of the ct database are distributed over several servers (Citus, ct_block by shard): each key is looked up in a statement that determines its shard',
    default: false,
  }),
  REDIS_URL: url({
    schemes: ['redis', 'rediss'],
    meaning: 'Carries wake-ups and questions to the prober; losing it costs time, never work',
  }),
  SEARCH_URL: string({
    meaning: 'How people reach the search API, without /v1: links to certificates in alerts begin with it',
    pattern: /^https?:\/\/[^\s?#]+[^\s?#/]$/,
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
});

export type Config = SettingValues<typeof settings.table>;

/** Injection token of the configuration. */
export const Config = Symbol('MonitoringWorkerConfig');

/** @throws SettingsError */
export const config = (): Config => settings.read(process.env);
