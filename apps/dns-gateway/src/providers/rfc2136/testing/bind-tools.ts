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

/** On a machine that is busy. */
const timeoutMs = 60_000;
const run = promisify(execFile);
const keyText = ({ algorithm, name, secret }: PeerKey): string => `${algorithm}:${name}:${secret}`;

/** Every record of the zones except the SOA, by AXFR. */
export async function zoneContent(
  { address, port }: ServerAddress,
  zones: readonly string[],
  key?: PeerKey,
): Promise<readonly (PlainRecord & { readonly ttlS: number })[]> {
  const signed = key === undefined ? [] : ['-y', keyText(key)];
  const options = [`@${address}`, '-p', String(port), ...signed, '+noall', '+answer', '+onesoa'];
  const args = [...options, ...zones.flatMap((zone) => [zone, 'AXFR'])];
  const { stdout } = await run('dig', args, { timeout: timeoutMs });
  if (stdout.match(/\sSOA\s/g)?.length !== zones.length) throw new Error(`No transfer: ${stdout}`);
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
    const child = execFile('nsupdate', ['-v', ...signed], { timeout: timeoutMs }, (_error, _stdout, stderr) =>
      resolve(stderr),
    );
    child.stdin?.end(
      [`server ${address} ${port}`, `zone ${zone}.`, 'check-names off', ...lines, 'send', ''].join('\n'),
    );
  });
}

/** Removes all records that a rule left, except the initial content of the zones. */
export async function emptied(server: ServerAddress, key: PeerKey, zones: readonly string[]): Promise<void> {
  const found = new Set((await zoneContent(server, zones, key)).map(({ fqdn }) => fqdn));
  const left = [...found].filter((name) => !zones.includes(name) && !/^ns\d\./.test(name));
  for (const zone of zones) {
    const names = left.filter((name) => zoneIn(zones, name) === zone);
    if (names.length === 0) continue;
    const said = await nsupdate(server, key, zone, ...names.map((name) => `del ${name}.`));
    if (said !== '') throw new Error(said);
  }
}

/** The zone that contains a name. */
export function zoneIn(zones: readonly string[], fqdn: string): string {
  return [...zones].sort((a, b) => b.length - a.length).find((zone) => `.${fqdn}`.endsWith(`.${zone}`)) ?? '';
}
