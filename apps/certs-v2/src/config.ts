import {
  baseUrl,
  defineSettings,
  frontSettings,
  integer,
  sealingKeys,
  type SettingValues,
  string,
} from '@certwright/service';

/** The settings of the certificate API: what each means, its unit, and what holds without it. */
export const certsSettings = defineSettings({
  ...frontSettings({ path: '/api/v2', port: 4312, opsPort: 4313 }),
  DOWNLOAD_URL: baseUrl({
    meaning:
      'URL below which anyone with the address can download a current certificate; served by orders-v3',
    default: 'http://127.0.0.1:4310/download',
  }),
  MAIL_FROM: string({
    meaning: 'Sender of approval mails, as shown to callers; the same as in the notifier',
    default: 'Certwright <certwright@localhost>',
  }),
  DV_PRODUCT: string({ meaning: 'Product of the certificate type dv', default: 'paid_ca' }),
  EV_PRODUCT: string({ meaning: 'Product of the certificate type ev', default: 'paid_ev_ca' }),
  LATEST_CLIENT_VERSION: string({
    meaning:
      'Newest version of the command-line client, offered to clients that query it; never to newer ones. Without it no version is offered',
    pattern: /^\d{1,6}(\.\d{1,6}){0,3}$/,
    default: null,
  }),
  SEALING_KEYS: sealingKeys({
    meaning:
      'Seal the API keys that users may ask for again; the same for every process that has the setting',
  }),
  INSTALLATION_TESTS_PER_MIN: integer({
    meaning: 'Tests of installations per account, as many at once: each connects to up to 64 addresses',
    unit: '1/min',
    min: 1,
    max: 100_000,
    default: 10,
  }),
  MAX_CERT_OBJECTS: integer({
    meaning:
      'Certificate objects per account; further ones are refused. The list of all of them is one response, and clients ' +
      'cannot delete any. Concurrent requests may exceed it by a few',
    unit: 'certificate objects',
    min: 1,
    max: 10_000_000,
    default: 100_000,
  }),
});

export type CertsConfig = SettingValues<typeof certsSettings.table>;

/** Under which the configuration is injected. */
export const CertsConfig = Symbol('CertsConfig');

export function readConfig(): CertsConfig {
  return certsSettings.read(process.env);
}
