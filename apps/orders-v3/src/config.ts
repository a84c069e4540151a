import {
  defineSettings,
  durationMs,
  frontSettings,
  gatewaySettings,
  integer,
  list,
  network,
  sealingKeys,
  type SettingValues,
} from '@certwright/service';

/** The settings of the order API: what each means, its unit, and what holds without it. */
export const ordersSettings = defineSettings({
  ...frontSettings({ path: '/api/v3', port: 4310, opsPort: 4311 }),
  SEALING_KEYS: sealingKeys({
    meaning: 'Seal the secrets and credentials of webhooks; the same for every process that has the setting',
  }),
  ALLOWED_NETWORKS: list(network({ meaning: 'A network' }), {
    meaning:
      'Networks with private or other special-purpose addresses that webhooks may go to all the same; the same as of the notifier',
    default: [],
  }),
  ...gatewaySettings({ without: 'no DNS provider can be integrated' }),
  MAX_WAITING_AGENTS: integer({
    meaning:
      'Agents that may wait for changes in this process, each with a connection and about 48 KiB; the response to further ones is 503. Waiting agents use no connection to the database',
    unit: 'agents',
    min: 1,
    max: 100_000,
    default: 10_000,
  }),
  SETTLING_MS: durationMs({
    meaning:
      'A modification waits this long for further ones, so that several in a row make one certificate; a new order does not wait',
    minMs: 0,
    maxMs: 3_600_000,
    default: 10_000,
  }),
  INSTALLATION_GRACE: durationMs({
    meaning:
      'An account gets a mail and a webhook when a live host of a cluster does not serve the current certificate of an order for this long',
    minMs: 60_000,
    maxMs: 30 * 86_400_000,
    default: 86_400_000,
  }),
});

export type OrdersConfig = SettingValues<typeof ordersSettings.table>;

/** Under which the configuration is injected. */
export const OrdersConfig = Symbol('OrdersConfig');

export function readConfig(): OrdersConfig {
  return ordersSettings.read(process.env);
}
