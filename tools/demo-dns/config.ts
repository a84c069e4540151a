import { isIP } from 'node:net';
import { isLoopback, parseName, readTsigKey, type DnsName, type TsigKey } from '@certwright/dns-authority';
import { LOG_LEVELS, type LogLevel } from './json-log';

/** The demo's DNS server: simulates the DNS of customers, changeable with curl or nsupdate from this machine. */
export interface DemoDnsConfig {
  /** DNS_HOST: IP address for DNS over UDP and TCP. Default 127.0.0.1. */
  readonly dnsHost: string;
  /** DNS_PORT: its port; 0 picks a free one. Default 4353. */
  readonly dnsPort: number;
  /**
   * CONTROL_HOST: IP address of the HTTP control. Default 127.0.0.1. Only a loopback address: every client of the
   * control can change every record.
   */
  readonly controlHost: string;
  /** CONTROL_PORT: its port; 0 picks a free one. Default 4354. */
  readonly controlPort: number;
  /** DEMO_ZONES: apexes of the zones served, separated by commas. Default example.com,example.net,example.org. */
  readonly zones: readonly DnsName[];
  /**
   * DEMO_TSIG_KEY: `name:algorithm:secret` (RFC 8945; hmac-sha256, hmac-sha384 or hmac-sha512; the secret in base64, 16
   * bytes or more). An UPDATE signed with it is accepted from any address that reaches DNS_HOST; an unsigned one only
   * from this machine. Default: none, and signed ones are refused.
   */
  readonly tsigKey?: TsigKey;
  /**
   * DATA_FILE: JSON file that stores the records; created when missing. Default: none, records are lost on
   * restart.
   */
  readonly dataFile?: string;
  /** PID_FILE: file with the process id while the server runs. Default: none. */
  readonly pidFile?: string;
  /** LOG_LEVEL: error, warn, info or debug (which logs every query). Default info. */
  readonly logLevel: LogLevel;
}

/** An invalid setting; the message names it and its rule. */
export class ConfigFault extends Error {
  constructor(setting: string, rule: string) {
    super(`${setting} ${rule}`);
    this.name = 'ConfigFault';
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** An empty value counts as not set. @throws ConfigFault */
export function readConfig(env: Environment): DemoDnsConfig {
  const controlHost = address(env, 'CONTROL_HOST');
  if (!isLoopback(controlHost)) {
    throw new ConfigFault('CONTROL_HOST', 'must be a loopback address: the control has no authentication.');
  }
  return {
    dnsHost: address(env, 'DNS_HOST'),
    dnsPort: port(env, 'DNS_PORT', 4353),
    controlHost,
    controlPort: port(env, 'CONTROL_PORT', 4354),
    zones: zones(env.DEMO_ZONES || 'example.com,example.net,example.org'),
    ...(env.DEMO_TSIG_KEY && { tsigKey: tsigKey(env.DEMO_TSIG_KEY) }),
    ...(env.DATA_FILE && { dataFile: env.DATA_FILE }),
    ...(env.PID_FILE && { pidFile: env.PID_FILE }),
    logLevel: logLevel(env.LOG_LEVEL || 'info'),
  };
}

function address(env: Environment, setting: string): string {
  const value = env[setting] || '127.0.0.1';
  if (isIP(value) === 0) throw new ConfigFault(setting, `must be an IP address, not "${value}".`);
  return value;
}

function port(env: Environment, setting: string, fallback: number): number {
  const value = env[setting] || String(fallback);
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65535) {
    throw new ConfigFault(setting, `must be a port, 0 to 65535, not "${value}".`);
  }
  return Number(value);
}

function zones(value: string): DnsName[] {
  return value.split(',').map((text) => {
    const apex = parseName(text.trim());
    if (apex === undefined)
      throw new ConfigFault('DEMO_ZONES', `must be domain names, not "${text.trim()}".`);
    return apex;
  });
}

function tsigKey(value: string): TsigKey {
  const [name = '', algorithm = '', secret = '', ...more] = value.split(':');
  const key = readTsigKey({ name, algorithm, secret });
  if (more.length > 0) throw new ConfigFault('DEMO_TSIG_KEY', 'must be name:algorithm:secret.');
  if ('rule' in key)
    throw new ConfigFault('DEMO_TSIG_KEY', `must be name:algorithm:secret; its ${key.part} ${key.rule}.`);
  return key;
}

function logLevel(value: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === value);
  if (level === undefined) throw new ConfigFault('LOG_LEVEL', `must be one of ${LOG_LEVELS.join(', ')}.`);
  return level;
}
