import { isIP } from 'node:net';
import { parseMonitoredName } from '@certwright/dns-names';
import {
  type LookedAtHost,
  type LookQuestion,
  maxHostsOfLook,
  maxPortsOfHost,
} from '@certwright/endpoint-checks';

type Members = Readonly<Record<string, unknown>>;

/** Reads a question from any value; null: invalid. */
export function readLookQuestion(value: unknown): LookQuestion | null {
  if (typeof value !== 'object' || value === null) return null;
  const { hosts, serverName, withHttpStatus } = value as Members;
  if (!isListOf(hosts, maxHostsOfLook, isLookedAtHost) || !areDistinct(hosts.map(({ host }) => host)))
    return null;
  if (serverName !== null && !isDnsName(serverName)) return null;
  if (typeof withHttpStatus !== 'boolean') return null;
  return { hosts: hosts.map(({ host, ports }) => ({ host, ports })), serverName, withHttpStatus };
}

function isLookedAtHost(value: unknown): value is LookedAtHost {
  if (typeof value !== 'object' || value === null) return false;
  const { host, ports } = value as Members;
  return isHost(host) && isListOf(ports, maxPortsOfHost, isPort) && ports.length > 0 && areDistinct(ports);
}

function isListOf<T>(value: unknown, max: number, is: (each: unknown) => each is T): value is T[] {
  return Array.isArray(value) && value.length <= max && value.every(is);
}

const areDistinct = (values: readonly unknown[]): boolean => new Set(values).size === values.length;

/** An address with a zone (`fe80::1%eth0`) is only valid on one machine. */
const isHost = (value: unknown): value is string =>
  (typeof value === 'string' && isIP(value) !== 0 && !value.includes('%')) || isDnsName(value);

/** In normal form and below a public suffix: internal names are not even looked up. Names in DNS may have underscores. */
function isDnsName(value: unknown): value is string {
  if (typeof value !== 'string' || value.startsWith('.')) return false;
  const parsed = parseMonitoredName(value);
  return parsed.ok && parsed.name === value;
}

const isPort = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535;
