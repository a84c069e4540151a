import { defineSettings, frontSettings, type SettingValues } from '@certwright/service';

/** The settings of the monitoring API: those of every front end. */
export const monitoringSettings = defineSettings({
  ...frontSettings({ path: '/api/v3/monitoring', port: 4316, opsPort: 4317 }),
});

export type MonitoringConfig = SettingValues<typeof monitoringSettings.table>;

/** Under which the configuration is injected. */
export const MonitoringConfig = Symbol('MonitoringConfig');

export function readConfig(): MonitoringConfig {
  return monitoringSettings.read(process.env);
}
