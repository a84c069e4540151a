import type { EndpointFinding, FindingCode } from '@certwright/endpoint-checks';
import { instantOf, type Part, quote } from '../letter';

export interface FindingText {
  /** Continues "port 443 on 192.0.2.1: ". */
  readonly title: string;
  /** Follows the title. Texts of servers are quoted. */
  readonly detail: readonly Part[];
  /** One or two sentences. */
  readonly whatToDo: string;
}

type Parameters = EndpointFinding['parameters'];

export const findingText = ({ code, parameters }: EndpointFinding): FindingText => texts[code](parameters);

const texts = {
  expired: (parameters) => ({
    title: 'the certificate has expired',
    detail: timeDetail('it was valid until', parameters['notAfter']),
    whatToDo: 'Install a valid certificate, and check that the server reloads renewed ones.',
  }),
  not_yet_valid: (parameters) => ({
    title: 'the certificate is not valid yet',
    detail: timeDetail('it is valid from', parameters['notBefore']),
    whatToDo: 'Install a certificate that is valid now.',
  }),
  expiring: (parameters) => ({
    title: 'the certificate expires soon',
    detail: timeDetail('it is valid until', parameters['notAfter']),
    whatToDo: 'Renew it, install the renewed certificate, and reload the server.',
  }),
  wrong_name: (parameters) => ({
    title: 'the certificate is for other names',
    detail: textDetail('it has: ', parameters['dnsNames']),
    whatToDo: 'Install a certificate for this name, or check how the server selects it by server name (SNI).',
  }),
  incomplete_chain: () => ({
    title: 'an intermediate certificate is missing',
    detail: [],
    whatToDo: 'Install the complete chain: some clients cannot verify the certificate without it.',
  }),
  untrusted: ({ reason }) => {
    if (reason === 'unreadable')
      return {
        title: 'the certificate cannot be read',
        detail: [],
        whatToDo: 'Install a certificate of a public CA with its chain.',
      };
    if (reason === 'no_server_auth')
      return {
        title: 'the certificate is not for servers',
        detail: [],
        whatToDo: 'Install a certificate with the extended key usage serverAuth.',
      };
    return {
      title: 'the certificate is not issued by a trusted CA',
      detail: [],
      whatToDo: 'Install a certificate of a public CA with its chain.',
    };
  },
  self_signed: () => ({
    title: 'the certificate is self-signed',
    detail: [],
    whatToDo: 'Install a certificate of a public CA with its chain.',
  }),
  weak: (parameters) => ({
    title: 'the certificate or the connection is weak',
    detail: textDetail('', parameters['reasons']),
    whatToDo:
      'Use RSA with 2048 bits or more, or ECDSA on P-256, P-384 or P-521; signatures with SHA-256; and TLS 1.2 or later.',
  }),
  revoked: (parameters) => ({
    title: 'the certificate is revoked',
    detail: timeDetail('since', parameters['revokedAt']),
    whatToDo: 'Replace it, with a new key if the key was compromised.',
  }),
  not_current: (parameters) => ({
    title: 'a newer certificate was issued for you and is not installed',
    detail: textDetail('its SHA-256 is ', parameters['currentSha256']),
    whatToDo: 'Install it and reload the server.',
  }),
  unknown_key: (parameters) => ({
    title: 'a valid certificate is served that you do not know and that is not in Certificate Transparency',
    detail: textDetail('its tbs_sha256 is ', parameters['tbsSha256']),
    whatToDo:
      'If it is yours, authorize it with POST /api/v3/monitoring/known_certs. If not, connections may be intercepted: check the DNS records and the servers.',
  }),
  addresses_differ: () => ({
    title: 'the addresses present different certificates',
    detail: [],
    whatToDo: 'Install the same certificate on each server.',
  }),
  dangling: (parameters) => ({
    title: 'a CNAME record leads to a name that does not exist',
    detail: textDetail('', parameters['target']),
    whatToDo: 'Delete the record: another party that registers its target can serve this name.',
  }),
  unreachable: ({ reason, problem }) => {
    if (reason === 'no_name' || reason === 'no_address')
      return {
        title: reason === 'no_name' ? 'the name does not exist' : 'the name has no address',
        detail: [],
        whatToDo: 'Publish its DNS records again, or mute it if it is no longer used.',
      };
    return {
      title: 'no server can be reached with TLS',
      // A sentence.
      detail: textDetail('', String(problem ?? '').replace(/\.$/, '')),
      whatToDo: 'Check that the server runs, and that its firewall allows connections from everywhere.',
    };
  },
} as const satisfies Record<FindingCode, (parameters: Parameters) => FindingText>;

function timeDetail(before: string, value: Parameters[string] | undefined): readonly Part[] {
  const at = new Date(typeof value === 'string' ? value : Number.NaN);
  return Number.isNaN(at.getTime()) ? [] : [` (${before} ${instantOf(at)})`];
}

function textDetail(before: string, value: Parameters[string] | undefined): readonly Part[] {
  const text = typeof value === 'object' ? value.join(', ') : String(value ?? '');
  return text === '' ? [] : [` (${before}`, quote(text), ')'];
}
