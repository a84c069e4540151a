import { CLASS, RCODE } from '../codes';
import { MemoryZones } from '../memory/memory-zones';
import { Responder } from '../responder';
import { rcodeOf } from '../testing/asking';
import {
  nameBytes,
  soaBytes,
  txtBytes,
  updateMessage,
  type WrittenRecord,
  type WrittenUpdate,
} from '../testing/update-encoding';
import { a, cname, txt, zone } from '../testing/zones';

const { ANY, NONE } = CLASS;
const address = Buffer.of(127, 0, 0, 9);

/** A zone with serial 7 and a few records, and a way to send it updates and to see what came of them. */
function updatable(options: { recordLimit?: number; from?: string } = {}) {
  const com = zone(
    'example.com',
    a('www.example.com', '127.0.0.1'),
    txt('www.example.com', 'one'),
    txt('www.example.com', 'two'),
    cname('alias.example.com', 'www.example.com'),
    txt('below.empty.example.com', 'x'),
  );
  const zones = new MemoryZones([com, zone('example.net')], { updatable: ['example.com'], ...options });
  const responder = new Responder({ source: zones, updates: zones });
  const peer = { address: options.from ?? '127.0.0.1', port: 5300, transport: 'udp' } as const;
  return {
    com,
    send: async (update: WrittenUpdate) => rcodeOf(await responder.respond(updateMessage(update), peer)),
    types: (name: string) => com.recordsAt(name)?.map(({ type }) => type),
    texts: (name: string) =>
      com.recordsAt(name)?.flatMap((record) => (record.type === 'TXT' ? [record.data.join('')] : [])),
  };
}

const added: WrittenRecord = { name: 'new.example.com', type: 'TXT', ttl: 60, content: txtBytes('hello') };

describe('who may update what', () => {
  it('takes an unsigned update from this machine for an updatable zone', async () => {
    const { send, texts } = updatable();
    expect(await send({ updates: [added] })).toBe(RCODE.NOERROR);
    expect(texts('new.example.com')).toEqual(['hello']);
  });

  it('refuses one from another machine', async () => {
    const { send, texts } = updatable({ from: '192.0.2.7' });
    expect(await send({ updates: [added] })).toBe(RCODE.REFUSED);
    expect(texts('new.example.com')).toBeUndefined();
  });

  it.each([
    ['a zone that is not marked updatable', { zone: 'example.net' }, RCODE.REFUSED],
    ['a zone that is not held here', { zone: 'example.org' }, RCODE.NOTAUTH],
    ['a name inside a zone instead of the zone', { zone: 'www.example.com' }, RCODE.NOTAUTH],
    ['a zone section of another type than SOA', { zoneType: 16 }, RCODE.FORMERR],
    [
      'a signature, which nothing here can check',
      { additionals: [{ name: 'key', type: 250 }] },
      RCODE.NOTAUTH,
    ],
  ])('does not take %s', async (_, update, rcode) => {
    const { send, com } = updatable();
    expect(await send(update)).toBe(rcode);
    expect(com.soa.data.serial).toBe(7);
  });
});

describe('prerequisites', () => {
  const name = 'www.example.com';
  it.each<[string, WrittenRecord[], number]>([
    ['RRset exists: it does', [{ name, type: 'A', class: ANY }], RCODE.NOERROR],
    ['RRset exists: it does not', [{ name, type: 'CAA', class: ANY }], RCODE.NXRRSET],
    [
      'RRset exists with these values: in any order',
      ['two', 'one'].map((text) => ({ name, type: 'TXT', content: txtBytes(text) })),
      RCODE.NOERROR,
    ],
    [
      'RRset exists with these values: one is missing',
      [{ name, type: 'TXT', content: txtBytes('one') }],
      RCODE.NXRRSET,
    ],
    [
      'RRset exists with these values: another one',
      ['one', 'two', 'three'].map((text) => ({ name, type: 'TXT', content: txtBytes(text) })),
      RCODE.NXRRSET,
    ],
    ['RRset does not exist: right', [{ name, type: 'CAA', class: NONE }], RCODE.NOERROR],
    ['RRset does not exist: it does', [{ name, type: 'A', class: NONE }], RCODE.YXRRSET],
    ['name is in use: it is', [{ name, class: ANY }], RCODE.NOERROR],
    ['name is in use: it is not', [{ name: 'no.example.com', class: ANY }], RCODE.NXDOMAIN],
    ['name is in use: only names below it are', [{ name: 'empty.example.com', class: ANY }], RCODE.NXDOMAIN],
    ['name is not in use: right', [{ name: 'no.example.com', class: NONE }], RCODE.NOERROR],
    ['name is not in use: it is', [{ name, class: NONE }], RCODE.YXDOMAIN],
    ['a name outside the zone', [{ name: 'example.org', class: ANY }], RCODE.NOTZONE],
    ['a TTL', [{ name, class: ANY, ttl: 1 }], RCODE.FORMERR],
    ['content where none belongs', [{ name, type: 'A', class: ANY, content: address }], RCODE.FORMERR],
    ['another class', [{ name, type: 'A', class: 3 }], RCODE.FORMERR],
    ['any type with a value', [{ name }], RCODE.FORMERR],
  ])('%s', async (_, prerequisites, rcode) => {
    const { send, com } = updatable();
    expect(await send({ prerequisites, updates: [added] })).toBe(rcode);
    expect(com.soa.data.serial).toBe(rcode === RCODE.NOERROR ? 8 : 7);
  });
});

describe('updates', () => {
  it('add a record to an RRset, all of which takes the new TTL', async () => {
    const { send, com } = updatable();
    await send({ updates: [{ name: 'WWW.example.com', type: 'A', ttl: 60, content: address }] });
    expect(com.recordsAt('www.example.com')?.filter(({ type }) => type === 'A')).toEqual([
      { name: 'www.example.com', type: 'A', data: '127.0.0.1', ttl: 60 },
      { name: 'www.example.com', type: 'A', data: '127.0.0.9', ttl: 60 },
    ]);
  });

  it('delete an RRset', async () => {
    const { send, types } = updatable();
    await send({ updates: [{ name: 'www.example.com', type: 'TXT', class: ANY }] });
    expect(types('www.example.com')).toEqual(['A']);
  });

  it('delete every record of a name', async () => {
    const { send, types } = updatable();
    await send({ updates: [{ name: 'www.example.com', class: ANY }] });
    expect(types('www.example.com')).toBeUndefined();
  });

  it('delete one record by its value (class NONE)', async () => {
    const { send, texts } = updatable();
    const one = { name: 'www.example.com', type: 'TXT', class: NONE, content: txtBytes('one') } as const;
    await send({ updates: [one] });
    expect(texts('www.example.com')).toEqual(['two']);
  });

  it('apply in order', async () => {
    const { send, texts } = updatable();
    await send({
      updates: [added, { name: added.name, class: ANY }, { ...added, content: txtBytes('last') }],
    });
    expect(texts('new.example.com')).toEqual(['last']);
  });

  it('remove an empty non-terminal with the last name below it', async () => {
    const { send, com } = updatable();
    expect(com.recordsAt('empty.example.com')).toEqual([]);
    await send({ updates: [{ name: 'below.empty.example.com', class: ANY }] });
    expect(com.recordsAt('empty.example.com')).toBeUndefined();
  });

  it('ignore a CNAME beside other data, and other data beside a CNAME', async () => {
    const { send, types } = updatable();
    const content = nameBytes('x.example.com');
    const updates = [
      { name: 'www.example.com', type: 'CNAME', content },
      { name: 'alias.example.com', type: 'A', content: address },
    ] as const;
    expect(await send({ updates })).toBe(RCODE.NOERROR);
    expect(types('www.example.com')).toEqual(['A', 'TXT', 'TXT']);
    expect(types('alias.example.com')).toEqual(['CNAME']);
  });

  it('replace a CNAME by another', async () => {
    const { send, com } = updatable();
    await send({
      updates: [{ name: 'alias.example.com', type: 'CNAME', content: nameBytes('X.example.com') }],
    });
    expect(com.recordsAt('alias.example.com')).toMatchObject([{ data: 'x.example.com' }]);
  });

  it('never take the SOA or the last NS from the apex', async () => {
    const { send, types } = updatable();
    const nsBytes = nameBytes('ns1.example.com');
    await send({ updates: [{ name: 'example.com', class: ANY }] });
    await send({ updates: [{ name: 'example.com', type: 'NS', class: ANY }] });
    await send({ updates: [{ name: 'example.com', type: 'NS', class: NONE, content: nsBytes }] });
    await send({ updates: [{ name: 'example.com', type: 'SOA', class: ANY }] });
    expect(types('example.com')?.sort()).toEqual(['NS', 'SOA']);
  });
});

describe('the serial', () => {
  it('is raised by one for a message that changes something', async () => {
    const { send, com } = updatable();
    await send({ updates: [added, { ...added, content: txtBytes('second') }] });
    expect(com.soa.data.serial).toBe(8);
  });

  it('stays for a message that changes nothing', async () => {
    const { send, com } = updatable();
    await send({ updates: [{ name: 'no.example.com', class: ANY }] });
    await send({
      updates: [{ name: 'www.example.com', type: 'A', ttl: 300, content: Buffer.of(127, 0, 0, 1) }],
    });
    expect(com.soa.data.serial).toBe(7);
  });

  it('is taken from the message when that one is newer, and only then', async () => {
    const { send, com } = updatable();
    const soa = (serial: number) =>
      ({ name: 'example.com', type: 'SOA', content: soaBytes(serial) }) as const;
    await send({ updates: [soa(40)] });
    expect(com.soa.data.serial).toBe(40);
    await send({ updates: [soa(39)] });
    expect(com.soa.data.serial).toBe(40);
  });
});

describe('a message is applied whole or not at all', () => {
  it.each<[string, WrittenRecord, number]>([
    ['a name outside the zone', { ...added, name: 'example.org' }, RCODE.NOTZONE],
    ['a type that is not held here', { name: 'x.example.com', type: 15, content: address }, RCODE.REFUSED],
    ['a name that could not be written back', { ...added, name: '*.example.com' }, RCODE.REFUSED],
    ['a CNAME at the apex', { name: 'example.com', type: 'CNAME', content: nameBytes('a.b') }, RCODE.REFUSED],
    ['any type to add', { name: 'x.example.com', content: address }, RCODE.FORMERR],
    ['nothing to add', { name: 'x.example.com', type: 'TXT' }, RCODE.FORMERR],
    ['a TTL on a deletion', { name: 'www.example.com', class: ANY, ttl: 5 }, RCODE.FORMERR],
    ['content on the deletion of an RRset', { ...added, class: ANY, ttl: 0 }, RCODE.FORMERR],
    ['any type to delete by value', { name: 'www.example.com', class: NONE }, RCODE.FORMERR],
    ['another class', { ...added, class: 4 }, RCODE.FORMERR],
    [
      'an address of three bytes',
      { name: 'x.example.com', type: 'A', content: Buffer.of(1, 2, 3) },
      RCODE.FORMERR,
    ],
    ['a string longer than its record', { ...added, content: Buffer.of(9, 65) }, RCODE.FORMERR],
    [
      'a SOA that is cut',
      { name: 'example.com', type: 'SOA', content: soaBytes(9).subarray(1) },
      RCODE.FORMERR,
    ],
  ])('not with %s in it', async (_, wrong, rcode) => {
    const { send, com, texts } = updatable();
    expect(await send({ updates: [added, wrong] })).toBe(rcode);
    expect(texts('new.example.com')).toBeUndefined();
    expect(com.soa.data.serial).toBe(7);
  });

  it('not when the zone would grow past its limit', async () => {
    const { send, com, texts } = updatable({ recordLimit: 8 });
    expect(com.size).toBe(7);
    expect(await send({ updates: [added, { ...added, content: txtBytes('2') }] })).toBe(RCODE.REFUSED);
    expect(texts('new.example.com')).toBeUndefined();
    expect(await send({ updates: [added] })).toBe(RCODE.NOERROR);
    expect(com.size).toBe(8);
  });
});
