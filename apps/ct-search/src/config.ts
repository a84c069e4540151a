import {
  baseUrl,
  databaseUrl,
  defineSettings,
  httpSettings,
  integer,
  list,
  network,
  port,
  processSettings,
  type SettingValues,
  string,
} from '@certwright/service';
import { accessSettings } from './access/access-settings';

/** The settings of the search API: meaning, unit and default. */
export const searchSettings = defineSettings({
  CT_DATABASE_URL: databaseUrl({
    meaning: 'The ct database (PostgreSQL); it is only read, so that a replica will do',
  }),
  CT_DATABASE_POOL_SIZE: integer({
    meaning:
      'Connections to the ct database that this process keeps at most for each time limit that a plan sets, and for queries without a key; unused ones are closed',
    unit: 'connections',
    min: 1,
    max: 200,
    default: 10,
  }),
  HOST: string({ meaning: 'Address to listen on; a container needs 0.0.0.0', default: '127.0.0.1' }),
  PORT: port({ meaning: 'Port to listen on; 0 takes any free one', default: 4314 }),
  PUBLIC_URL: baseUrl({
    meaning: 'How callers reach this API, without /v1: the address of a next page begins with it',
    default: 'http://127.0.0.1:4314',
  }),
  ...accessSettings,
  TRUSTED_PROXIES: list(network({ meaning: 'A proxy', orAddress: true }), {
    meaning: 'Addresses or networks (CIDR) of the proxies whose X-Forwarded-For is believed',
    default: [],
  }),
  ...httpSettings,
  ...processSettings({ opsPort: 4315 }),
});

export type SearchConfig = SettingValues<typeof searchSettings.table>;

/** Injection token of the configuration. */
export const SearchConfig = Symbol('SearchConfig');

export function readConfig(): SearchConfig {
  return searchSettings.read(process.env);
}
