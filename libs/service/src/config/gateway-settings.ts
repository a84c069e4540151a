import type { Secret } from './secret';
import { secret, url } from './setting-kinds';
import { SettingsError } from './settings';

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
    meaning: 'Certificate by which the gateway knows this process, PEM; needed with GATEWAY_URL',
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
 * @returns null when no gateway is configured
 * @throws SettingsError when the configuration is incomplete
 */
export function gatewayConnection(values: GatewayValues): GatewayConnection | null {
  const { GATEWAY_URL: url, GATEWAY_CA, GATEWAY_CERTIFICATE, GATEWAY_KEY } = values;
  if (url === null) return null;
  const needed = { GATEWAY_CA, GATEWAY_CERTIFICATE, GATEWAY_KEY };
  const missing = Object.entries(needed).filter(([, value]) => value === null);
  if (missing.length > 0) {
    const fault = 'is missing, and GATEWAY_URL is set';
    throw new SettingsError(missing.map(([name]) => ({ name: `${name} (or ${name}_FILE)`, fault })));
  }
  const pem = (value: Secret | null): string => value?.reveal() ?? '';
  return { url, ca: pem(GATEWAY_CA), certificate: pem(GATEWAY_CERTIFICATE), key: pem(GATEWAY_KEY) };
}
