import {
  parseName,
  readTsigKey,
  TSIG_ALGORITHMS,
  type DnsName,
  type TsigKey,
} from '@certwright/dns-authority';
import { Problem, type FieldFault } from '@certwright/errors';
import type { Credentials } from '@certwright/gateway-contract';
import { keptMember, type MemberRule, readMembers, visibleAscii } from '../credential-members';
import type { KeptCredentials } from '../dns-provider';
import { ProviderFault } from '../provider-fault';

/** The server and its zones, and the key that authenticates the gateway. */
export interface Access {
  /** A host name or an IP address. */
  readonly server: string;
  readonly port: number;
  readonly key: TsigKey;
  readonly zones: readonly DnsName[];
}

/** Zones of one integration; each is checked when the integration is created. */
const maxZones = 50;

export const accessMembers: readonly MemberRule[] = [
  {
    name: 'server',
    meaning: 'host name or address of the primary name server',
    secret: false,
    required: true,
    shape: /^[A-Za-z0-9._:[\]-]{1,255}$/,
    shapeDescription: 'a host name or an IP address',
  },
  {
    name: 'port',
    meaning: 'its port, UDP and TCP; 53 when it is not given',
    secret: false,
    required: false,
    shape: /^(?!0)\d{1,5}$/,
    shapeDescription: 'a port, 1 to 65535',
  },
  {
    name: 'key_name',
    meaning: 'name of the TSIG key, as the server has it',
    secret: false,
    required: true,
    ...visibleAscii,
  },
  {
    name: 'key_algorithm',
    meaning: Object.keys(TSIG_ALGORITHMS).join(', '),
    secret: false,
    required: true,
    ...visibleAscii,
  },
  {
    name: 'key_secret',
    meaning: "the key's secret in base64, as in the server's key file",
    secret: true,
    required: true,
    ...visibleAscii,
  },
  {
    name: 'zones',
    meaning: 'the zones that the key may change, separated by commas or spaces',
    secret: false,
    required: true,
    shape: /^[\x20-\x7e]{1,8192}$/,
    shapeDescription: 'domain names separated by commas or spaces',
  },
];

/** @throws Problem `bad_request` naming the member */
export function readAccess(credentials: Credentials, defaultPort: number): Access {
  const given = readMembers(credentials, { bearer: accessMembers });
  const read = accessOf(
    given,
    defaultPort,
    (given.zones ?? '').split(/[\s,]+/).filter((name) => name !== ''),
  );
  if (Array.isArray(read)) throw Problem.ofFields(read);
  return read as Access;
}

export function kept({ server, port, key, zones }: Access): KeptCredentials {
  return {
    server,
    port: String(port),
    key_name: key.name,
    key_algorithm: key.algorithm,
    key_secret: key.secret.toString('base64'),
    zones,
  };
}

/** @throws ProviderFault when the handle's content has another format than this version writes */
export function keptAccess(credentials: KeptCredentials): Access {
  const names = ['server', 'port', 'key_name', 'key_algorithm', 'key_secret'];
  const given = Object.fromEntries(names.map((name) => [name, keptMember(credentials, name)]));
  const zones = credentials.zones;
  const read = typeof zones === 'object' ? accessOf(given, 0, zones) : [];
  if (!Array.isArray(read)) return read as Access;
  throw new ProviderFault(
    'auth_failed',
    'The integration holds no usable credentials; it must be made again.',
  );
}

function accessOf(
  given: Readonly<Record<string, string>>,
  defaultPort: number,
  names: readonly string[],
): Access | readonly FieldFault[] {
  const { server = '', key_name: name = '', key_algorithm: algorithm = '', key_secret: secret = '' } = given;
  const port = given.port === undefined ? defaultPort : Number(given.port);
  const zones = [...new Set(names)].map((text) => parseName(text));
  const key = readTsigKey({ name, algorithm, secret });
  const faults = [
    ...(port > 65_535 ? [fault('port', 'must be a port, 1 to 65535')] : []),
    ...('rule' in key ? [fault(`key_${key.part}`, key.rule)] : []),
    ...(zones.includes(undefined) || zones.length === 0
      ? [
          fault(
            'zones',
            'must be domain names separated by commas or spaces, with A-labels for other letters',
          ),
        ]
      : []),
    ...(zones.length > maxZones ? [fault('zones', `must be at most ${maxZones}`)] : []),
  ];
  if (faults.length > 0 || 'rule' in key) return faults;
  return { server, port, key, zones: zones.filter((zone) => zone !== undefined) };
}

const fault = (member: string, rule: string): FieldFault => ({
  field: `credentials.${member}`,
  code: 'invalid_value',
  message: `credentials.${member} ${rule}.`,
});
