import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { unquotedTxt } from '../../records/txt-value';
import type { PlainRecord } from '../../testing/provider-world';
import type { PeerKey } from './peers';

/** dig and nsupdate: an independent implementation that reads and changes a zone. */

interface ServerAddress {
  readonly address: string;
  readonly port: number;
}

const run = promisify(execFile);
const keyText = ({ algorithm, name, secret }: PeerKey): string => `${algorithm}:${name}:${secret}`;

/** Every record of a zone except the SOA, by AXFR. */
export async function zoneContent(
  { address, port }: ServerAddress,
  zone: string,
  key?: PeerKey,
): Promise<readonly (PlainRecord & { readonly ttlS: number })[]> {
  const signed = key === undefined ? [] : ['-y', keyText(key)];
  const args = [`@${address}`, '-p', String(port), ...signed, zone, 'AXFR', '+noall', '+answer', '+onesoa'];
  const { stdout } = await run('dig', args, { timeout: 5_000 });
  if (!stdout.includes('\tSOA\t') && !/\sSOA\s/.test(stdout)) throw new Error(`No transfer: ${stdout}`);
  return stdout
    .split('\n')
    .map((line) => /^(\S+)\s+(\d+)\s+IN\s+(\S+)\s+(.*)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, name = '', ttl = '', type = '', value = '']) => ({
      fqdn: name.toLowerCase().replace(/\.$/, ''),
      type,
      ttlS: Number(ttl),
      value: normal(type, value),
    }))
    .filter(({ type }) => type !== 'SOA');
}

function normal(type: string, value: string): string {
  if (type === 'TXT') return unquotedTxt(value) ?? value;
  return type === 'CNAME' || type === 'NS' ? value.replace(/\.$/, '') : value;
}

/** @returns nsupdate's error output, or '' */
export function nsupdate(
  { address, port }: ServerAddress,
  key: PeerKey | undefined,
  zone: string,
  ...lines: string[]
): Promise<string> {
  const signed = key === undefined ? [] : ['-y', keyText(key)];
  return new Promise((resolve) => {
    const child = execFile('nsupdate', ['-v', ...signed], { timeout: 5_000 }, (_error, _stdout, stderr) =>
      resolve(stderr),
    );
    child.stdin?.end(
      [`server ${address} ${port}`, `zone ${zone}.`, 'check-names off', ...lines, 'send', ''].join('\n'),
    );
  });
}

/** Removes all records that a rule left, except the initial content of the zone. */
export async function emptied(server: ServerAddress, key: PeerKey, zone: string): Promise<void> {
  const names = (await zoneContent(server, zone, key)).map(({ fqdn }) => fqdn);
  const left = [...new Set(names)].filter((name) => name !== zone && !/^ns\d\./.test(name));
  if (left.length === 0) return;
  const said = await nsupdate(server, key, zone, ...left.map((name) => `del ${name}.`));
  if (said !== '') throw new Error(said);
}
