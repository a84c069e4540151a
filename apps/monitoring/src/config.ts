import {
  databaseUrl,
  defineSettings,
  frontSettings,
  integer,
  list,
  type SettingValues,
} from '@certwright/service';

/** The settings of the monitoring API: those of every front end, the index, and ports of endpoints. */
export const monitoringSettings = defineSettings({
  ...frontSettings({ path: '/api/v3/monitoring', port: 4316, opsPort: 4317 }),
  CT_DATABASE_URL: databaseUrl({
    meaning:
      'The ct database (PostgreSQL), with the index of public certificates; it is only read, so that a replica will do. While it is down, certificates are shown without their issuance',
  }),
  CT_DATABASE_POOL_SIZE: integer({
    meaning: 'Max connections to the ct database; unused ones are closed',
    unit: 'connections',
    min: 1,
    max: 50,
    default: 4,
  }),
  ENDPOINT_PORTS: list(integer({ meaning: 'port', unit: 'port', min: 1, max: 65_535 }), {
    meaning: 'Ports on which an account may have endpoints checked',
    default: [443, 8443, 465, 636, 853, 993, 995],
  }),
});

export type MonitoringConfig = SettingValues<typeof monitoringSettings.table>;

/** Under which the configuration is injected. */
export const MonitoringConfig = Symbol('MonitoringConfig');

export function readConfig(): MonitoringConfig {
  return monitoringSettings.read(process.env);
}
