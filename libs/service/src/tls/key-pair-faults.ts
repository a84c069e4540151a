import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { SettingFault } from '../config/settings';

/** A private key and its certificate, followed by intermediates; both PEM. */
export interface KeyPair {
  readonly key: string;
  readonly certificate: string;
}

/** The settings that name or contain them. */
export type KeyPairSettings = Readonly<Record<keyof KeyPair, string>>;

/** Extended key usages (RFC 5280, section 4.2.1.12). */
const keyUsages = { client: '1.3.6.1.5.5.7.3.2', server: '1.3.6.1.5.5.7.3.1' } as const;

/**
 * Why a TLS peer would refuse the certificate, or OpenSSL the pair.
 *
 * @param use of the certificate
 */
export function keyPairFaults(
  { key, certificate }: KeyPair,
  settings: KeyPairSettings,
  use: keyof typeof keyUsages,
  now: Date,
): readonly SettingFault[] {
  const leaf = readCertificate(certificate);
  const privateKey = readPrivateKey(key);
  const faults: SettingFault[] = [];
  const add = (name: string, fault: string) => void faults.push({ name, fault });
  if (leaf === null) add(settings.certificate, 'is not a certificate in PEM');
  if (privateKey === null) add(settings.key, 'is not a private key in PEM without a passphrase');
  if (leaf === null || privateKey === null) return faults;
  if (!leaf.checkPrivateKey(privateKey))
    add(
      settings.certificate,
      `does not belong to the key in ${settings.key}: set both to files of the same pair`,
    );
  // Absent: any usage. Node declares the member otherwise.
  const usages = leaf.keyUsage as readonly string[] | undefined;
  if (usages !== undefined && !usages.includes(keyUsages[use]))
    add(
      settings.certificate,
      `is not for TLS ${use}s (extended key usage ${use}Auth is missing): issue another one`,
    );
  const invalid = validityFault(certificate, now);
  if (invalid !== null) add(settings.certificate, invalid);
  return faults;
}

/** @returns null: the certificate is valid now */
export function validityFault(certificate: string, now: Date): string | null {
  const leaf = readCertificate(certificate);
  if (leaf === null) return 'is not a certificate in PEM';
  const { validFromDate, validToDate } = leaf;
  if (now > validToDate) return `expired at ${validToDate.toISOString()}: replace it with a renewed one`;
  if (now < validFromDate)
    return `is not valid before ${validFromDate.toISOString()}: check the clock of this machine (${now.toISOString()}), or replace it`;
  return null;
}

/** The first certificate of a file. @returns null when there is none that can be read */
export function readCertificate(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

function readPrivateKey(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem);
  } catch {
    return null;
  }
}
