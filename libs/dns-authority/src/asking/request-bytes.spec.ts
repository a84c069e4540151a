import * as packet from 'dns-packet';
import { CLASS, STORED_TYPE } from '../codes';
import { type ZoneRecord } from '../record';
import { readHeader, readQuery } from '../request';
import { SOA, a, cname, ns, record, txt } from '../testing/zones';
import { readUpdate } from '../update/update-message';
import { queryBytes, updateBytes } from './request-bytes';

const records: readonly ZoneRecord[] = [
  a('a.example.com', '192.0.2.255'),
  ...['::', '::1', '2001:db8::', '2001:db8::1:0:0:1', 'fe80:1:2:3:4:5:6:7', '::ffff:192.0.2.1'].map((data) =>
    record('aaaa.example.com', { type: 'AAAA', data }),
  ),
  cname('c.example.com', 'x.example'),
  ns('n.example.com', 'ns.example'),
  txt('_t.example.com', 'one', '', 'x'.repeat(255)),
  record('caa.example.com', { type: 'CAA', data: { flags: 128, tag: 'issue', value: 'ca.example; a=b' } }),
  record('example.com', SOA),
];
const written = (steps: Parameters<typeof updateBytes>[0]['steps']) =>
  updateBytes({ id: 0xfffe, zone: 'example.com', prerequisites: [], steps });
const read = (message: Buffer) => readUpdate(message, readHeader(message)!);

describe('an UPDATE message', () => {
  it.each(records)('adds a $type record, as dns-packet reads it too', (wanted) => {
    const message = written([{ step: 'add', record: wanted }]);
    const { name, type, ttl, ...content } = wanted;
    expect(read(message).updates).toMatchObject([
      { name, type: STORED_TYPE[type], class: CLASS.IN, ttl, content },
    ]);
    const [theirs] = packet.decode(message).authorities ?? [];
    expect(theirs).toMatchObject({ name, type, class: 'IN', ttl });
  });

  it('deletes a record by class NONE, which is 254, and no TTL', () => {
    const [update] = read(written([{ step: 'remove', record: txt('_t.example.com', 'x') }])).updates;
    expect(update).toMatchObject({ class: 254, ttl: 0, content: { type: 'TXT', data: [Buffer.from('x')] } });
  });

  it('deletes a type by class ANY, and tests absence and presence without content', () => {
    const message = updateBytes({
      id: 1,
      zone: 'example.com',
      prerequisites: [
        { holds: 'name in use', name: 'example.com' },
        { holds: 'no such type', name: 'x.example.com', type: 65 },
      ],
      steps: [{ step: 'remove type', name: 'x.example.com', type: 'TXT' }],
    });
    const none = { ttl: 0, empty: true };
    expect(read(message)).toEqual({
      zone: { name: 'example.com', type: 6, class: 1 },
      prerequisites: [
        { name: 'example.com', type: 255, class: 255, ...none },
        { name: 'x.example.com', type: 65, class: 254, ...none },
      ],
      updates: [{ name: 'x.example.com', type: 16, class: 255, ...none }],
      signed: false,
    });
  });

  it.each([
    txt('a b.example.com', 'x'),
    txt('t.example.com', 'x'.repeat(256)),
    cname('c.example.com', `${'x'.repeat(64)}.example`),
    { ...txt('t.example.com', 'x'), ttl: -1 },
  ])('is not written with what no message can hold', (impossible) => {
    expect(() => written([{ step: 'add', record: impossible }])).toThrow(RangeError);
  });
});

it('a question is one, without recursion', () => {
  const message = queryBytes(7, 'example.com', 'SOA');
  const header = readHeader(message)!;
  expect(header).toMatchObject({ id: 7, opcode: 0, recursionDesired: false, counts: [1, 0, 0, 0] });
  expect(readQuery(message, header).question).toMatchObject({ name: 'example.com', type: 6, class: 1 });
});
