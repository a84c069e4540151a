import {
  boolean,
  databaseUrl,
  defineSettings,
  hostPort,
  integer,
  list,
  network,
  poolerSettings,
  processSettings,
  redisSettings,
  sealingKeys,
  secret,
  SettingsError,
  type SettingValues,
  string,
  url,
} from '@certwright/service';
import { senderOf } from './mail/mail-address';

/** Every setting of the notifier. */
export const settings = defineSettings({
  ...processSettings({ opsPort: 4341 }),
  DATABASE_URL: databaseUrl({ meaning: 'The core database' }),
  ...poolerSettings,
  DATABASE_POOL_SIZE: integer({
    meaning: 'Max database connections; a delivery holds one briefly, never while it waits for a response',
    unit: 'connections',
    min: 2,
    max: 200,
    default: 20,
  }),
  ...redisSettings({ meaning: 'Where wake-ups are queued; losing it costs time, never work' }),
  SEALING_KEYS: sealingKeys({
    meaning:
      'Open the secrets and credentials of webhooks, and make the Message-IDs of mails; the same for every process that has the setting',
  }),
  DELIVERY_CONCURRENCY: integer({
    meaning:
      'Concurrent webhooks: half of them to endpoints that respond within a second, a quarter to untested ones, a quarter to failing or slow ones. A webhook that waits for longer than a second releases its slot; up to four times as many may wait this way, for at most 15 s',
    unit: 'deliveries',
    min: 8,
    max: 2_000,
    default: 256,
  }),
  ALLOWED_NETWORKS: list(network({ meaning: 'A network' }), {
    meaning:
      'Networks with private or other special-purpose addresses that webhooks may go to; none by default',
    default: [],
  }),
  DNS_RESOLVERS: list(hostPort({ meaning: 'A recursive resolver' }), {
    meaning: 'Resolvers for the hosts of webhooks; empty: the resolvers of the system',
    default: [],
  }),
  SMTP_URL: url({
    schemes: ['smtp', 'smtps'],
    meaning:
      'The mail server for outgoing mail: smtp://host:port (STARTTLS), smtps://host:port (TLS from the first byte)',
  }),
  SMTP_REQUIRE_TLS: boolean({
    meaning:
      'Whether a mail server without TLS is refused; false only for one on this machine or in a trusted network',
    default: true,
  }),
  SMTP_USER: string({ meaning: 'User name at the mail server', default: null }),
  SMTP_PASSWORD: secret({ meaning: 'Password at the mail server', default: null }),
  SMTP_FROM: string({
    meaning:
      'The sender of every mail: an address, or `Name <address>`; the same for every process that shows it',
  }),
  APPROVAL_URL: url({
    schemes: ['https', 'http'],
    meaning: 'Public URL of approval-responder; links in mails begin with it',
  }),
});

export type Config = SettingValues<typeof settings.table>;

/** Injection token of the configuration. */
export const Config = Symbol('NotifierConfig');

/** @throws SettingsError */
export function config(): Config {
  const read = settings.read(process.env);
  const faults = mailFaults(read);
  if (faults.length > 0) throw new SettingsError(faults);
  return read;
}

interface Fault {
  readonly name: string;
  readonly fault: string;
}

function mailFaults({ SMTP_URL, SMTP_REQUIRE_TLS, SMTP_USER, SMTP_PASSWORD, SMTP_FROM }: Config): Fault[] {
  const faults: Fault[] = [];
  if ((SMTP_USER === null) !== (SMTP_PASSWORD === null)) {
    faults.push({ name: 'SMTP_USER', fault: 'and SMTP_PASSWORD belong together: one of them is missing' });
  }
  if (SMTP_PASSWORD !== null && !SMTP_REQUIRE_TLS && !SMTP_URL.startsWith('smtps:')) {
    faults.push({
      name: 'SMTP_REQUIRE_TLS',
      fault: 'is false, but there is a password, which would be sent in the clear',
    });
  }
  if (new URL(SMTP_URL).password !== '') {
    faults.push({ name: 'SMTP_URL', fault: 'holds a password: give it as SMTP_USER and SMTP_PASSWORD' });
  }
  if (senderOf(SMTP_FROM) === null) {
    faults.push({ name: 'SMTP_FROM', fault: 'is neither an address nor `Name <address>`' });
  }
  return faults;
}
