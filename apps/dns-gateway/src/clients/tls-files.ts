import { readFile } from 'node:fs/promises';
import { fileFault, type HttpTls, keyPairFaults, readCertificate, SettingsError } from '@certwright/service';
import type { GatewayConfig } from '../config';

export type TlsFiles = Pick<GatewayConfig, 'TLS_KEY_FILE' | 'TLS_CERTIFICATE_FILE' | 'CLIENT_CA_FILE'>;

const names = {
  key: 'TLS_KEY_FILE',
  certificate: 'TLS_CERTIFICATE_FILE',
  clientCa: 'CLIENT_CA_FILE',
} as const satisfies Record<keyof HttpTls, keyof TlsFiles>;

/** @throws SettingsError when a file cannot be read */
export async function readTls(files: TlsFiles): Promise<HttpTls> {
  const read = async (name: keyof TlsFiles): Promise<string> => {
    try {
      return await readFile(files[name], 'utf8');
    } catch (error) {
      throw new SettingsError([{ name, fault: `cannot be read: ${fileFault(error)}` }]);
    }
  };
  const [key, certificate, clientCa] = await Promise.all([
    read(names.key),
    read(names.certificate),
    read(names.clientCa),
  ]);
  return { key, certificate, clientCa };
}

/** @throws SettingsError when clients would refuse the certificate, or OpenSSL the files */
export function assertUsable(tls: HttpTls, now = new Date()): void {
  const faults = [...keyPairFaults(tls, names, 'server', now)];
  if (readCertificate(tls.clientCa) === null)
    faults.push({ name: names.clientCa, fault: 'is not a certificate in PEM' });
  if (faults.length > 0) throw new SettingsError(faults);
}
