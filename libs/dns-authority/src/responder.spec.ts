import * as packet from 'dns-packet';
import { RCODE } from './codes';
import { MemoryZones } from './memory/memory-zones';
import { Responder, isLoopback, type Answered, type Peer } from './responder';
import { type RecordSource } from './source';
import { optRecord, queryMessage, rcodeOf } from './testing/asking';
import { a, cname, txt, zone } from './testing/zones';

const UDP: Peer = { address: '127.0.0.1', port: 5300, transport: 'udp' };
const TCP: Peer = { ...UDP, transport: 'tcp' };
const big = Array.from({ length: 12 }, (_, n) => txt('big.example.com', `${n}`.padEnd(100, 'x')));
const middle = Array.from({ length: 5 }, (_, n) => txt('middle.example.com', `${n}`.padEnd(100, 'x')));
const huge = Array.from({ length: 300 }, (_, n) => txt('huge.example.com', `${n}`.padEnd(250, 'x')));
const source = new MemoryZones([
  zone('example.com', a('www.example.com', '127.0.0.2'), ...big, ...middle, ...huge),
]);
const responder = new Responder({ source });

async function respond(message: Buffer, peer = UDP, to = responder) {
  const response = await to.respond(message, peer);
  if (response === undefined) throw new Error('There was no answer.');
  return { bytes: response, ...packet.decode(response) };
}

describe('the header and question of a response', () => {
  it('echo id, RD, CD and the question in the case it was asked in (0x20)', async () => {
    const query = queryMessage('wWw.eXample.COM', 'A', {
      id: 0xbeef,
      flags: packet.RECURSION_DESIRED | packet.CHECKING_DISABLED,
    });
    const response = await respond(query);
    expect(response).toMatchObject({
      id: 0xbeef,
      flag_qr: true,
      flag_aa: true,
      flag_rd: true,
      flag_cd: true,
    });
    expect(response.questions).toMatchObject([{ name: 'wWw.eXample.COM', type: 'A', class: 'IN' }]);
    expect(response.answers).toMatchObject([{ name: 'www.example.com', data: '127.0.0.2', ttl: 300 }]);
  });

  it('never promise recursion', async () => {
    expect((await respond(queryMessage('www.example.com', 'A'))).flag_ra).toBe(false);
    expect((await respond(queryMessage('example.org', 'A'))).flag_ra).toBe(false);
  });

  it('echo bytes that are no text', async () => {
    const query = queryMessage('xxx.example.com', 'A');
    query.set([0xff, 0x2e, 0x00], 13);
    const { bytes } = await respond(query);
    expect(bytes.subarray(12, query.length)).toEqual(query.subarray(12));
    expect(rcodeOf(bytes)).toBe(RCODE.NXDOMAIN);
  });
});

describe('EDNS', () => {
  it('is answered with EDNS, and only then', async () => {
    const plain = await respond(queryMessage('www.example.com', 'A'));
    expect(plain.additionals).toEqual([]);
    const query = queryMessage('www.example.com', 'A', {
      additionals: [optRecord(4096, 0, packet.DNSSEC_OK)],
    });
    expect((await respond(query)).additionals).toMatchObject([
      { type: 'OPT', udpPayloadSize: 1232, ednsVersion: 0, flag_do: true, options: [] },
    ]);
  });

  it('of an unknown version is BADVERS', async () => {
    const response = await respond(
      queryMessage('www.example.com', 'A', { additionals: [optRecord(1232, 1)] }),
    );
    expect(rcodeOf(response.bytes)).toBe(RCODE.BADVERS & 0xf);
    expect(response.additionals).toMatchObject([{ extendedRcode: 1, ednsVersion: 0 }]);
    expect(response.answers).toEqual([]);
  });

  it('is answered with EDNS also where the opcode is not implemented', async () => {
    const query = Buffer.from(queryMessage('www.example.com', 'A', { additionals: [optRecord(1232)] }));
    query[2] = 2 << 3;
    const response = await respond(query);
    expect(rcodeOf(response.bytes)).toBe(RCODE.NOTIMP);
    expect(response).toMatchObject({
      questions: [{ name: 'www.example.com' }],
      additionals: [{ type: 'OPT' }],
    });
  });

  it('given twice is a format error', async () => {
    const query = queryMessage('www.example.com', 'A', { additionals: [optRecord(1232), optRecord(1232)] });
    expect(rcodeOf((await respond(query)).bytes)).toBe(RCODE.FORMERR);
  });
});

describe('the size of a response', () => {
  const withEdns = (name: string, size: number) =>
    queryMessage(name, 'TXT', { additionals: [optRecord(size)] });

  it.each([
    ['512 bytes without EDNS', queryMessage('middle.example.com', 'TXT'), true],
    ['512 bytes for an asker who announces less', withEdns('middle.example.com', 1), true],
    ['what the asker announces', withEdns('middle.example.com', 1200), false],
    ['1,232 bytes whatever the asker announces', withEdns('big.example.com', 65535), true],
  ])('over UDP is at most %s', async (_, query, truncated) => {
    const response = await respond(query);
    expect(response.flag_tc).toBe(truncated);
    expect(response.bytes.length).toBeLessThanOrEqual(1232);
    expect(response.answers?.length).toBe(truncated ? 0 : 5);
  });

  it('over TCP is not cut', async () => {
    const response = await respond(queryMessage('big.example.com', 'TXT'), TCP);
    expect(response.flag_tc).toBe(false);
    expect(response.answers).toHaveLength(12);
  });

  it('over TCP that no message can have is SERVFAIL', async () => {
    const { bytes } = await respond(queryMessage('huge.example.com', 'TXT'), TCP);
    expect(rcodeOf(bytes)).toBe(RCODE.SERVFAIL);
    expect(bytes.length).toBeLessThan(100);
  });
});

describe('beyond a limit that says truncate', () => {
  const answered: Answered[] = [];
  const limited = new Responder({
    source: { read: () => Promise.reject(new Error('was asked')) },
    admit: () => 'truncate',
    onAnswered: (each) => answered.push(each),
  });
  const withOpcode = (opcode: number) => {
    const message = Buffer.from(queryMessage('www.example.com', 'A'));
    message[2] = opcode << 3;
    return message;
  };

  it('a query gets TC and no record, with EDNS where it has EDNS, and no more bytes than it had', async () => {
    const plain = queryMessage('www.example.com', 'A');
    const edns = queryMessage('www.example.com', 'A', { additionals: [optRecord(4096)] });
    for (const [query, additionals] of [
      [plain, []],
      [edns, [expect.objectContaining({ type: 'OPT', udpPayloadSize: 1232 })]],
    ] as const) {
      const response = await respond(query, UDP, limited);
      expect(response).toMatchObject({ flag_tc: true, rcode: 'NOERROR', answers: [], additionals });
      expect(response.bytes.length).toBeLessThanOrEqual(query.length);
    }
    expect(answered.at(-1)).toMatchObject({ admission: 'truncate' });
  });

  it('an unknown version of EDNS is BADVERS all the same', async () => {
    const query = queryMessage('www.example.com', 'A', { additionals: [optRecord(1232, 1)] });
    const response = await respond(query, UDP, limited);
    expect(response).toMatchObject({ flag_tc: false, additionals: [{ extendedRcode: 1 }] });
  });

  it('two questions are a format error', async () => {
    const query = Buffer.from(queryMessage('www.example.com', 'A'));
    query[5] = 2;
    expect(rcodeOf((await respond(query, UDP, limited)).bytes)).toBe(RCODE.FORMERR);
  });

  it.each([2, 4, 5, 15])('opcode %d is not answered, least of all with NOERROR', async (opcode) => {
    expect(await limited.respond(withOpcode(opcode), UDP)).toBeUndefined();
  });
});

it('tells how long an answer took', async () => {
  const answered: Answered[] = [];
  const slow = zone('example.com', a('www.example.com', '127.0.0.2'));
  const read = () => new Promise<typeof slow>((resolve) => setTimeout(() => resolve(slow), 20));
  const timed = new Responder({ source: { read }, onAnswered: (each) => answered.push(each) });
  await respond(queryMessage('www.example.com', 'A'), UDP, timed);
  expect(answered).toMatchObject([{ admission: 'answer' }]);
  expect(answered[0]?.tookMs).toBeGreaterThan(15);
});

describe('malformed requests', () => {
  const query = queryMessage('www.example.com', 'A');
  const changed = (at: number, ...bytes: number[]) => {
    const copy = Buffer.from(query);
    copy.set(bytes, at);
    return copy;
  };

  it.each([
    ['no whole header', query.subarray(0, 11)],
    ['nothing', Buffer.alloc(0)],
    ['a response', changed(2, 0x81)],
  ])('%s is not answered', async (_, message) => {
    expect(await responder.respond(message, UDP)).toBeUndefined();
  });

  it.each([
    ['no question', Buffer.concat([changed(4, 0, 0).subarray(0, 12)])],
    ['two questions', changed(4, 0, 2)],
    ['a question that is cut', query.subarray(0, 20)],
    ['more records announced than there are', changed(6, 0xff, 0xff)],
    ['bytes after the end', Buffer.concat([query, Buffer.of(1)])],
    ['a label of 64 bytes', changed(12, 64)],
    ['a question that is a pointer into the header', changed(12, 0xc0, 0x00)],
  ])('%s is a format error with the id', async (_, message) => {
    const { bytes, id } = await respond(message);
    expect(id).toBe(0x1234);
    expect(rcodeOf(bytes)).toBe(RCODE.FORMERR);
  });

  it.each([
    ['IQUERY', 1],
    ['STATUS', 2],
    ['NOTIFY', 4],
    ['UPDATE, when nothing takes updates', 5],
    ['an unassigned opcode', 15],
  ])('%s is not implemented', async (_, opcode) => {
    const { bytes } = await respond(changed(2, opcode << 3));
    expect(rcodeOf(bytes)).toBe(RCODE.NOTIMP);
    expect((bytes[2] ?? 0) >> 3).toBe(0x10 | opcode);
  });
});

describe('a source that', () => {
  const failing = async (read: RecordSource['read'], more = {}) => {
    const seen: Answered[] = [];
    const responder = new Responder({
      source: { read },
      onAnswered: (answered) => seen.push(answered),
      ...more,
    });
    const { bytes } = await respond(queryMessage('www.example.com', 'A'), UDP, responder);
    return { rcode: rcodeOf(bytes), seen };
  };

  it('throws is SERVFAIL, and the observer gets the reason', async () => {
    const { rcode, seen } = await failing(() => {
      throw new Error('gone');
    });
    expect(rcode).toBe(RCODE.SERVFAIL);
    expect(seen).toMatchObject([{ rcode: RCODE.SERVFAIL, question: { name: 'www.example.com', type: 1 } }]);
    expect(seen[0]?.error).toEqual(new Error('gone'));
  });

  it('never answers is SERVFAIL after its time', async () => {
    const { rcode } = await failing(() => new Promise(() => undefined), { sourceTimeoutMs: 5 });
    expect(rcode).toBe(RCODE.SERVFAIL);
  });

  it.each([
    ['an address that is none', a('www.example.com', '127.0.0')],
    ['a label of 64 bytes', cname('www.example.com', `${'a'.repeat(64)}.example.com`)],
    ['a name that is not in normal form', cname('www.example.com', 'X.example.com')],
  ])('holds what cannot be written (%s) is SERVFAIL', async (_, wrong) => {
    const broken = zone('example.com', wrong);
    const { rcode, seen } = await failing(() => broken);
    expect(rcode).toBe(RCODE.SERVFAIL);
    expect(seen[0]?.error).toBeInstanceOf(RangeError);
  });

  it('holds a TXT string over 255 bytes is SERVFAIL', async () => {
    const broken = zone('example.com', txt('www.example.com', 'x'.repeat(256)));
    const responder = new Responder({ source: { read: () => broken } });
    const { bytes } = await respond(queryMessage('www.example.com', 'TXT'), UDP, responder);
    expect(rcodeOf(bytes)).toBe(RCODE.SERVFAIL);
  });
});

it.each([
  ['127.0.0.1', true],
  ['127.8.9.10', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['10.0.0.1', false],
  ['::ffff:10.0.0.1', false],
  ['', false],
])('%p is loopback: %p', (address, loopback) => {
  expect(isLoopback(address)).toBe(loopback);
});
