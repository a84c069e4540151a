import { isIP } from 'node:net';
import { isWildcard, parseDnsName } from '@certwright/dns-names';
import { type InstallationQuestion, maxTestedHosts } from '@certwright/jobs';

/** Maximum number of digests; no real chain is longer. */
const maxDigests = 100;

/** Reads a question from any value; null: invalid. */
export function readInstallationQuestion(value: unknown): InstallationQuestion | null {
  if (typeof value !== 'object' || value === null) return null;
  const { hosts, port, serverName, leafSha256, chainSha256, temporarySha256 } = value as Readonly<
    Record<string, unknown>
  >;
  if (!isListOf(hosts, maxTestedHosts, isHost) || !isDnsName(serverName) || !isPort(port)) return null;
  if (!isDigest(leafSha256) || !isListOf(chainSha256, maxDigests, isDigest)) return null;
  if (!isListOf(temporarySha256, maxDigests, isDigest)) return null;
  return { hosts, port, serverName, leafSha256, chainSha256, temporarySha256 };
}

function isListOf<T>(value: unknown, max: number, is: (each: unknown) => each is T): value is T[] {
  return Array.isArray(value) && value.length <= max && value.every(is);
}

/** An address with a zone (`fe80::1%eth0`) is only valid on one machine. */
const isHost = (value: unknown): value is string =>
  (typeof value === 'string' && isIP(value) !== 0 && !value.includes('%')) || isDnsName(value);

/** In normal form and below a public suffix: internal names are not even looked up. */
function isDnsName(value: unknown): value is string {
  const parsed = parseDnsName(value);
  return parsed.ok && parsed.name === value && !isWildcard(parsed.name);
}

const isPort = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535;

const isDigest = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
