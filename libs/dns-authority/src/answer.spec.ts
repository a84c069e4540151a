import { answer, type Reply } from './answer';
import { RCODE, STORED_TYPE } from './codes';
import { type DnsName } from './name';
import { type Question } from './request';
import { type ZoneSlice } from './source';
import { a, cname, ns, txt, zone } from './testing/zones';

const TYPES = { ...STORED_TYPE, MX: 15, DS: 43, TKEY: 249, IXFR: 251, AXFR: 252, ANY: 255 };
type TypeName = keyof typeof TYPES;

const com = zone(
  'example.com',
  a('example.com', '127.0.0.1'),
  a('www.example.com', '127.0.0.2', 60),
  txt('deep.empty.example.com', 'below'),
  cname('alias.example.com', 'www.example.com'),
  cname('outside.example.com', 'elsewhere.test'),
  cname('across.example.com', 'target.example.net'),
  cname('dangling.example.com', 'missing.example.com'),
  cname('loop1.example.com', 'loop2.example.com'),
  cname('loop2.example.com', 'loop1.example.com'),
  ns('sub.example.com', 'ns.sub.example.com'),
  ns('sub.example.com', 'ns.other.test'),
  a('ns.sub.example.com', '127.0.0.3'),
  txt('hidden.sub.example.com', 'belongs to the child'),
  cname('into.example.com', 'x.sub.example.com'),
  ...Array.from({ length: 20 }, (_, n) => cname(`c${n}.example.com`, `c${n + 1}.example.com`)),
);
const net = zone('example.net', txt('target.example.net', 'reached'));

function sliceFor(name: DnsName): ZoneSlice | null {
  return [com, net].find(({ apex }) => name === apex || name.endsWith('.' + apex)) ?? null;
}

function ask(name: string, type: TypeName, classNumber = 1): Reply {
  const question: Question = { name, type: TYPES[type], class: classNumber, bytes: Buffer.alloc(0) };
  const slices = new Map<DnsName, ZoneSlice | null>();
  for (let reads = 0; reads < 30; reads++) {
    const outcome = answer(question, slices);
    if (outcome.kind === 'reply') return outcome.reply;
    expect(slices.has(outcome.name)).toBe(false);
    slices.set(outcome.name, sliceFor(outcome.name));
  }
  throw new Error('It never came to an answer.');
}

const brief = (records: Reply['answers']) => records.map(({ name, type }) => `${name} ${type}`);

describe('inside a zone', () => {
  it('answers a name with AA and the TTL of its record', () => {
    expect(ask('www.example.com', 'A')).toEqual({
      rcode: RCODE.NOERROR,
      authoritative: true,
      answers: [{ name: 'www.example.com', type: 'A', ttl: 60, data: '127.0.0.2' }],
      authority: [],
      additional: [],
    });
  });

  it.each(['SOA', 'NS', 'A'] as const)('answers %s at the apex', (type) => {
    expect(brief(ask('example.com', type).answers)).toEqual([`example.com ${type}`]);
  });

  it('says NXDOMAIN for a name that does not exist, with the SOA at the negative TTL', () => {
    const reply = ask('nothing.example.com', 'A');
    expect(reply).toMatchObject({ rcode: RCODE.NXDOMAIN, authoritative: true, answers: [] });
    expect(reply.authority).toMatchObject([{ name: 'example.com', type: 'SOA', ttl: 30 }]);
  });

  it.each([
    ['a name without that type', 'www.example.com', 'TXT'],
    ['an empty non-terminal', 'empty.example.com', 'TXT'],
    ['a type that no zone holds', 'www.example.com', 'MX'],
  ] as const)('says NODATA for %s', (_, name, type) => {
    const reply = ask(name, type);
    expect(reply).toMatchObject({ rcode: RCODE.NOERROR, authoritative: true, answers: [] });
    expect(brief(reply.authority)).toEqual(['example.com SOA']);
  });
});

describe('CNAME', () => {
  it('is followed inside the zone', () => {
    expect(brief(ask('alias.example.com', 'A').answers)).toEqual([
      'alias.example.com CNAME',
      'www.example.com A',
    ]);
  });

  it('is followed into another zone held here', () => {
    expect(brief(ask('across.example.com', 'TXT').answers)).toEqual([
      'across.example.com CNAME',
      'target.example.net TXT',
    ]);
  });

  it('is not followed when it is what was asked for', () => {
    expect(brief(ask('alias.example.com', 'CNAME').answers)).toEqual(['alias.example.com CNAME']);
  });

  it('out of all zones is handed out alone', () => {
    expect(ask('outside.example.com', 'A')).toMatchObject({ rcode: RCODE.NOERROR, authoritative: true });
    expect(brief(ask('outside.example.com', 'A').answers)).toEqual(['outside.example.com CNAME']);
  });

  it('to a name that does not exist is NXDOMAIN, with the CNAME and the SOA', () => {
    const reply = ask('dangling.example.com', 'A');
    expect(reply.rcode).toBe(RCODE.NXDOMAIN);
    expect(brief(reply.answers)).toEqual(['dangling.example.com CNAME']);
    expect(brief(reply.authority)).toEqual(['example.com SOA']);
  });

  it('to a name without the type is NODATA, with the CNAME and the SOA', () => {
    const reply = ask('alias.example.com', 'TXT');
    expect(reply.rcode).toBe(RCODE.NOERROR);
    expect(brief(reply.authority)).toEqual(['example.com SOA']);
  });

  it('loops end', () => {
    expect(brief(ask('loop1.example.com', 'A').answers)).toEqual([
      'loop1.example.com CNAME',
      'loop2.example.com CNAME',
    ]);
  });

  it('chains are cut after eight hops', () => {
    expect(ask('c0.example.com', 'A').answers).toHaveLength(9);
  });
});

describe('delegation', () => {
  it.each(['sub.example.com', 'hidden.sub.example.com', 'x.y.sub.example.com'])(
    'refers for %s without AA, with the address of the in-zone server',
    (name) => {
      const reply = ask(name, 'TXT');
      expect(reply).toMatchObject({ rcode: RCODE.NOERROR, authoritative: false, answers: [] });
      expect(brief(reply.authority)).toEqual(['sub.example.com NS', 'sub.example.com NS']);
      expect(brief(reply.additional)).toEqual(['ns.sub.example.com A']);
    },
  );

  it('refers also when NS is asked for', () => {
    const reply = ask('sub.example.com', 'NS');
    expect(reply.answers).toEqual([]);
    expect(reply.authority).toHaveLength(2);
  });

  it('is reached through a CNAME', () => {
    const reply = ask('into.example.com', 'TXT');
    expect(brief(reply.answers)).toEqual(['into.example.com CNAME']);
    expect(brief(reply.authority)).toContain('sub.example.com NS');
  });

  it('answers DS from the parent', () => {
    const reply = ask('sub.example.com', 'DS');
    expect(reply.authoritative).toBe(true);
    expect(brief(reply.authority)).toEqual(['example.com SOA']);
  });
});

describe('what is not answered', () => {
  it.each(['example.org', 'com', '', 'notexample.com'])(
    'refuses %p, which is in none of its zones',
    (name) => {
      expect(ask(name, 'A')).toEqual({
        rcode: RCODE.REFUSED,
        authoritative: false,
        answers: [],
        authority: [],
        additional: [],
      });
    },
  );

  it.each(['AXFR', 'IXFR'] as const)('refuses %s', (type) => {
    expect(ask('example.com', type).rcode).toBe(RCODE.REFUSED);
  });

  it('refuses class CH', () => {
    expect(ask('version.bind', 'TXT', 3).rcode).toBe(RCODE.REFUSED);
  });

  it('does not implement other meta types', () => {
    expect(ask('example.com', 'TKEY').rcode).toBe(RCODE.NOTIMP);
  });

  it('answers ANY with one small record', () => {
    expect(ask('example.com', 'ANY').answers).toMatchObject([{ type: 'HINFO', data: { cpu: 'RFC8482' } }]);
    expect(brief(ask('alias.example.com', 'ANY').answers)).toEqual(['alias.example.com CNAME']);
    expect(ask('nothing.example.com', 'ANY').rcode).toBe(RCODE.NXDOMAIN);
    expect(brief(ask('empty.example.com', 'ANY').authority)).toEqual(['example.com SOA']);
  });
});
