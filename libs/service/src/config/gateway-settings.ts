import type { RunningProcess } from '../lifecycle/run-process';
import { followTls, observeCertificate } from '../tls/follow-tls';
import { keyPairFaults, readCertificate } from '../tls/key-pair-faults';
import type { Secret } from './secret';
import { secret, url } from './setting-kinds';
import { type SettingFault, SettingsError } from './settings';

/**
 * How a process reaches the DNS gateway; spread into an application's own table.
 *
 * @param without what happens when no gateway is configured; ends a sentence
 */
export const gatewaySettings = ({ without }: { readonly without: string }) => ({
  GATEWAY_URL: url<null>({
    meaning: `The DNS gateway, by a name in its certificate; empty: ${without}`,
    schemes: ['https'],
    default: null,
  }),
  GATEWAY_CA: secret<null>({
    meaning: 'Certificate of the private CA that certified the gateway, PEM; needed with GATEWAY_URL',
    default: null,
  }),
  GATEWAY_CERTIFICATE: secret<null>({
    meaning:
      'Certificate by which the gateway knows this process, PEM; needed with GATEWAY_URL, read again from its file when it is renewed',
    default: null,
  }),
  GATEWAY_KEY: secret<null>({
    meaning: 'Private key of GATEWAY_CERTIFICATE, PEM; needed with GATEWAY_URL',
    default: null,
  }),
});

interface GatewayValues {
  readonly GATEWAY_URL: string | null;
  readonly GATEWAY_CA: Secret | null;
  readonly GATEWAY_CERTIFICATE: Secret | null;
  readonly GATEWAY_KEY: Secret | null;
}

/** Everything but the URL is PEM. */
export interface GatewayConnection {
  readonly url: string;
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

/**
 * @param reveal the text of a secret setting; default: as it was read at the start
 * @returns null when no gateway is configured
 * @throws SettingsError when the configuration is incomplete, or the certificate cannot be used
 */
export function gatewayConnection(
  values: GatewayValues,
  reveal: (secret: Secret) => string = (secret) => secret.reveal(),
): GatewayConnection | null {
  const { GATEWAY_URL: url, GATEWAY_CA: ca, GATEWAY_CERTIFICATE: certificate, GATEWAY_KEY: key } = values;
  if (url !== null && ca !== null && certificate !== null && key !== null) {
    const connection = { url, ca: reveal(ca), certificate: reveal(certificate), key: reveal(key) };
    const faults = connectionFaults(connection);
    if (faults.length > 0) throw new SettingsError(faults);
    return connection;
  }
  const all = Object.entries({
    GATEWAY_URL: url,
    GATEWAY_CA: ca,
    GATEWAY_CERTIFICATE: certificate,
    GATEWAY_KEY: key,
  });
  const [present] = all.find(([, value]) => value !== null) ?? [];
  if (present === undefined) return null;
  const missing = all.filter(([, value]) => value === null);
  const fault = `is missing, and ${present} is set: set all four settings of the gateway or none`;
  throw new SettingsError(missing.map(([name]) => ({ name: `${name} (or ${name}_FILE)`, fault })));
}

function connectionFaults({ ca, ...pair }: GatewayConnection): readonly SettingFault[] {
  const names = { certificate: 'GATEWAY_CERTIFICATE', key: 'GATEWAY_KEY' };
  const noRoot =
    readCertificate(ca) === null ? [{ name: 'GATEWAY_CA', fault: 'is not a certificate in PEM' }] : [];
  return [...noRoot, ...keyPairFaults(pair, names, 'client', new Date())];
}

/** How often the files of the certificate are read again, ms. */
const filesEveryMs = 60_000;

/**
 * Has the connection use renewed certificates, without a restart, and checks that the one in use has not expired.
 *
 * @param isRequired whether the process is ready only with a valid certificate
 */
export function followGateway(
  values: GatewayValues,
  first: GatewayConnection,
  running: Pick<RunningProcess, 'log' | 'metrics' | 'opened' | 'readiness'>,
  {
    use,
    isRequired,
    everyMs = filesEveryMs,
  }: {
    readonly use: (connection: GatewayConnection) => void;
    readonly isRequired: boolean;
    readonly everyMs?: number;
  },
): void {
  let current = first;
  const read = () => gatewayConnection(values, (secret) => secret.revealCurrent()) ?? first;
  const following = followTls(read, first, {
    everyMs,
    log: running.log,
    use: (connection) => {
      use(connection);
      current = connection;
    },
  });
  running.opened('gateway certificate', async () => await following.stop());
  observeCertificate(running, {
    check: 'gateway certificate',
    setting: 'GATEWAY_CERTIFICATE',
    isRequired,
    current: () => current.certificate,
  });
}
