import { execFileSync } from 'node:child_process';

/**
 * One certificate that is its own CA, server and client at once, and its key, in one PEM text.
 *
 * @param names as OpenSSL's configuration has them: `DNS:localhost`
 */
export function selfSigned(names: string): string {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '-'];
  const subject = ['-subj', '/CN=gateway', '-addext', `subjectAltName=${names}`];
  const options = { encoding: 'utf8', stdio: 'pipe' } as const;
  return execFileSync('openssl', ['req', '-x509', ...key, '-out', '-', ...subject, '-days', '10'], options);
}

/** What the API under test needs to reach a gateway that trusts this certificate. */
export function gatewaySettings(port: number, pem: string): Readonly<Record<string, string>> {
  return {
    GATEWAY_URL: `https://localhost:${port}`,
    GATEWAY_CA: pem,
    GATEWAY_CERTIFICATE: pem,
    GATEWAY_KEY: pem,
  };
}
