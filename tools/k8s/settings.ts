import { responderSettings, readConfig as responderConfig } from '../../apps/approval-responder/src/config';
import { certsSettings, readConfig as certsConfig } from '../../apps/certs-v2/src/config';
import { config as ingestConfig, settings as ingestSettings } from '../../apps/ct-ingest/src/config';
import { readConfig as searchConfig, searchSettings } from '../../apps/ct-search/src/config';
import { gatewaySettings, readConfig as gatewayConfig } from '../../apps/dns-gateway/src/config';
import { config as workerConfig, settings as workerSettings } from '../../apps/issuance-worker/src/config';
import { monitoringSettings, readConfig as monitoringConfig } from '../../apps/monitoring/src/config';
import {
  config as monitoringWorkerConfig,
  settings as monitoringWorkerSettings,
} from '../../apps/monitoring-worker/src/config';
import { config as notifierConfig, settings as notifierSettings } from '../../apps/notifier/src/config';
import { ordersSettings, readConfig as ordersConfig } from '../../apps/orders-v3/src/config';
import { config as proberConfig, settings as proberSettings } from '../../apps/prober/src/config';

interface AppSettings {
  readonly table: Readonly<Record<string, { readonly secret: boolean; readonly default?: unknown }>>;
  /** Reads `process.env`. */
  readonly config: () => object;
}

/** The settings of each app, by its name. */
export const settingsOf: Readonly<Record<string, AppSettings>> = {
  'approval-responder': { table: responderSettings.table, config: responderConfig },
  'certs-v2': { table: certsSettings.table, config: certsConfig },
  'ct-ingest': { table: ingestSettings.table, config: ingestConfig },
  'ct-search': { table: searchSettings.table, config: searchConfig },
  'dns-gateway': { table: gatewaySettings.table, config: gatewayConfig },
  'issuance-worker': { table: workerSettings.table, config: workerConfig },
  monitoring: { table: monitoringSettings.table, config: monitoringConfig },
  'monitoring-worker': { table: monitoringWorkerSettings.table, config: monitoringWorkerConfig },
  notifier: { table: notifierSettings.table, config: notifierConfig },
  'orders-v3': { table: ordersSettings.table, config: ordersConfig },
  prober: { table: proberSettings.table, config: proberConfig },
};
