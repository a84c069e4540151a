import {
  DnsServer,
  parseName,
  type DnsName,
  type RecordSource,
  type ZoneRecord,
} from '@certwright/dns-authority';

const named = (name: string): DnsName => parseName(name) as DnsName;
const apex = named('example.com');

/** Every name in example.com resolves to this machine, except for overrides; no other name exists. */
export async function serveLoopbackNames(
  others: Readonly<Record<string, string | readonly string[]>> = {},
): Promise<{ readonly address: { readonly host: string; readonly port: number }; close(): Promise<void> }> {
  const soa: ZoneRecord = {
    name: apex,
    ttl: 1,
    type: 'SOA',
    data: { mname: apex, rname: apex, serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1 },
  };
  const source: RecordSource = {
    read: (name) => {
      if (name !== apex && !name.endsWith(`.${apex}`)) return undefined;
      const addresses = [others[name] ?? '127.0.0.1'].flat();
      const recordsOf = (at: DnsName): ZoneRecord[] =>
        addresses.map((data) => ({ name: at, ttl: 1, type: data.includes(':') ? 'AAAA' : 'A', data }));
      return { apex, recordsAt: (at) => [...(at === apex ? [soa] : []), ...recordsOf(at)] };
    },
  };
  const server = new DnsServer({ host: '127.0.0.1', port: 0, source });
  const address = await server.listen();
  return { address, close: () => server.close() };
}
