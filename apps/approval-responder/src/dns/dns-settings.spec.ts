import { freePort } from '@certwright/testing';
import { responderSettings } from '../config';
import { queryTcp, queryUdp } from '../testing/dns-queries';
import { nameServers, zone } from '../testing/dns-copies';
import { RunningResponder } from '../testing/running-responder';
import { zoneSettings } from './dns-settings';

const needed = { DATABASE_URL: 'postgres://127.0.0.1/x', REDIS_URL: 'redis://127.0.0.1' };
const answering = { ...needed, DNS_PORT: '0', APPROVAL_ZONE: zone, APPROVAL_NAME_SERVERS: nameServers };
const read = (settings: Readonly<Record<string, string>>) => zoneSettings(responderSettings.read(settings));

describe('the settings of the DNS server', () => {
  it('turn it off without a port', () => {
    expect(read({ ...answering, DNS_PORT: '' })).toBeNull();
  });

  it('are read', () => {
    expect(read({ ...answering, APPROVAL_ZONE_CONTACT: 'dns@example.net' })).toEqual({
      apex: zone,
      mailbox: 'dns.example.net',
      nameServers: [
        { name: `ns1.${zone}`, addresses: ['127.0.0.1', '2001:db8::1'] },
        { name: 'ns2.other.example', addresses: ['127.0.0.2'] },
      ],
      valueTtlS: 5,
      negativeTtlS: 5,
    });
    expect(read(answering)).toMatchObject({ mailbox: `hostmaster.${zone}` });
  });

  it.each([
    ['APPROVAL_ZONE', ''],
    ['APPROVAL_ZONE', '-.example'],
    ['APPROVAL_NAME_SERVERS', ''],
    ['APPROVAL_NAME_SERVERS', 'ns1.example.net'],
    ['APPROVAL_NAME_SERVERS', 'ns1.example.net=192.0.2.1+x'],
    ['APPROVAL_NAME_SERVERS', 'ns1.example.net=fe80::1%eth0'],
    ['APPROVAL_NAME_SERVERS', 'n s=192.0.2.1'],
    ['DNS_NEGATIVE_TTL', '31'],
    ['APPROVAL_ZONE_CONTACT', 'hostmaster'],
  ])('name the error when %s is %j', (name, value) => {
    expect(() => read({ ...answering, [name]: value })).toThrow(name);
  });
});

it('one process answers HTTP and DNS', async () => {
  const port = await freePort();
  const responder = await RunningResponder.start(() => ({
    DNS_PORT: String(port),
    APPROVAL_ZONE: zone,
    APPROVAL_NAME_SERVERS: nameServers,
  }));
  expect((await responder.call('GET', '/')).status).toBe(404);
  expect(await queryUdp(port, zone, { type: 'SOA' })).toMatchObject({ rcode: 'NOERROR' });
  expect(await queryTcp(port, `x.${zone}`)).toMatchObject({ rcode: 'NXDOMAIN' });
  await responder.stop();
  await expect(queryTcp(port, zone)).rejects.toThrow('ECONNREFUSED');
});
