import { OutboundFault } from '../outbound-fault';
import { NameServer } from '../testing/name-server';
import { AddressGuard } from './address-guard';

let names: NameServer;
let guard: AddressGuard;
beforeAll(async () => {
  names = await NameServer.open();
  guard = new AddressGuard({ allowedNetworks: [], resolvers: [names.address] });
});
afterAll(() => names.close());

const never = new AbortController().signal;
const faultFor = async (host: string, of = guard): Promise<OutboundFault> => {
  const outcome: unknown = await of.addressesOf(host, never).catch((error: unknown) => error);
  if (outcome instanceof OutboundFault) return outcome;
  throw new Error(`${host} gave ${JSON.stringify(outcome)}`);
};

describe('an address in a URL', () => {
  it.each([
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '0177.0.0.1',
    '2130706433',
    '127.0.0.1.',
    '１２７.０.０.１',
    '[::1]',
    '::1',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '169.254.169.254',
    '0',
    '[fe80::1]',
    '[64:ff9b::7f00:1]',
  ])('is refused in every spelling when it is special-purpose: %s', async (host) => {
    expect(await faultFor(host)).toMatchObject({ kind: 'refused_address' });
  });

  it('is answered in its shortest form when it is public', async () => {
    expect(await guard.addressesOf('0x08.8.8.8', never)).toEqual(['8.8.8.8']);
    expect(await guard.addressesOf('[2606:4700:0:0::1111]', never)).toEqual(['2606:4700::1111']);
    expect(await guard.addressesOf('[::ffff:8.8.8.8]', never)).toEqual(['8.8.8.8']);
  });

  it('is allowed when the operator allows its network, in IPv4-mapped form too', async () => {
    const open = new AddressGuard({ allowedNetworks: ['127.0.0.0/8'] });
    expect(await open.addressesOf('127.0.0.1', never)).toEqual(['127.0.0.1']);
    expect(await open.addressesOf('[::ffff:127.0.0.1]', never)).toEqual(['127.0.0.1']);
    expect(await faultFor('10.0.0.1', open)).toMatchObject({ kind: 'refused_address' });
    expect(await faultFor('[64:ff9b::7f00:1]', open)).toMatchObject({ kind: 'refused_address' });
  });

  it.each([
    'a b',
    'a/b',
    'user@a',
    'a:80',
    'a?b',
    'a#b',
    '%31',
    '',
    '[::1',
    '1.2.3.4.5',
    `${'a'.repeat(64)}.com`,
  ])('is no host at all: %j', async (host) => {
    expect(await faultFor(host)).toMatchObject({ kind: 'bad_url' });
  });
});

describe('a name', () => {
  it('has its IPv6 and IPv4 addresses in turn, four at most', async () => {
    names.says('many.example.com', ['8.8.8.1', '8.8.8.2', '8.8.8.3', '2606::1', '2606::2']);
    const addresses = await guard.addressesOf('many.example.com', never);
    expect(addresses.map((address) => address.includes(':'))).toEqual([true, false, true, false]);
  });

  it('is refused when one of its addresses is special-purpose, at any position', async () => {
    for (const inner of ['10.0.0.7', '::1', '::ffff:169.254.169.254']) {
      names.says('mixed.example.com', ['8.8.8.1', '2606::1', inner]);
      const fault = await faultFor('mixed.example.com');
      expect(fault.kind).toBe('refused_address');
      expect(fault.message).not.toContain('10.0.0.7');
    }
    names.says('long.example.com', [
      ...Array.from({ length: 25 }, (_, at) => `8.8.8.${at + 1}`),
      '127.0.0.1',
    ]);
    expect(await faultFor('long.example.com')).toMatchObject({ kind: 'refused_address' });
  });

  it.each(['localhost', 'localhost.', 'LOCALHOST', 'a.localhost'])(
    'is the machine itself when it is %s, and is not even looked up',
    async (host) => {
      names.asked.length = 0;
      expect(await faultFor(host)).toMatchObject({ kind: 'refused_address' });
      const open = new AddressGuard({ allowedNetworks: ['127.0.0.0/8'], resolvers: [names.address] });
      expect(await open.addressesOf(host, never)).toEqual(['127.0.0.1']);
      expect(names.asked).toEqual([]);
    },
  );

  it('is asked of the DNS alone: neither the hosts file nor search domains answer', async () => {
    names.asked.length = 0;
    expect(await faultFor('ip6-localhost')).toMatchObject({ kind: 'dns' });
    expect(await faultFor('redis')).toMatchObject({ kind: 'dns' });
    expect(new Set(names.asked)).toEqual(
      new Set(['ip6-localhost A', 'ip6-localhost AAAA', 'redis A', 'redis AAAA']),
    );
  });

  it('is found when only one family answers', async () => {
    names.says('four.example.com', ['8.8.8.1']);
    names.says('six.example.com', ['2606::1']);
    expect(await guard.addressesOf('four.example.com', never)).toEqual(['8.8.8.1']);
    expect(await guard.addressesOf('six.example.com', never)).toEqual(['2606::1']);
  });

  it('that is not found has a message for each cause', async () => {
    names.says('empty.example.com', []);
    names.says('failing.example.com', 'SERVFAIL');
    const message = async (name: string) => (await faultFor(name)).message;
    expect(await message('absent.example.com')).toBe('absent.example.com does not exist in DNS.');
    expect(await message('empty.example.com')).toBe('empty.example.com has neither an A nor an AAAA record.');
    expect(await message('failing.example.com')).toContain('SERVFAIL');
  });

  it('is no longer waited for when the signal aborts', async () => {
    names.says('silent.example.com', 'silence');
    const reason = new Error('enough');
    const giveUp = new AbortController();
    const asking = guard.addressesOf('silent.example.com', giveUp.signal);
    setTimeout(() => giveUp.abort(reason), 50);
    await expect(asking).rejects.toBe(reason);
  });
});

it('an address is checked by itself before a connection to it', () => {
  expect(guard.checkedAddress('::ffff:8.8.8.8')).toBe('8.8.8.8');
  for (const refused of ['10.0.0.7', '::1', '::ffff:127.0.0.1', '2606::1%eth0', 'localhost', '']) {
    expect(() => guard.checkedAddress(refused)).toThrow(OutboundFault);
  }
});

it('a network that is none is refused at once', () => {
  expect(() => new AddressGuard({ allowedNetworks: ['10.1.2.3/8'] })).toThrow(TypeError);
});

it('names are not looked up at the resolvers of the system while the name of the own resolver has no address', async () => {
  const own = new AddressGuard({
    allowedNetworks: [],
    resolvers: [{ host: 'resolver.invalid', port: 53 }],
  });
  await expect(own.addressesOf('www.example.com', new AbortController().signal)).rejects.toMatchObject({
    kind: 'dns',
    message: expect.stringContaining('no DNS resolver is reachable'),
  });
});
