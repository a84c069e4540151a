import { readLookQuestion } from './look-question';

const at = (host: unknown, ports: unknown = [443]) => ({ host, ports });
const question = {
  hosts: [at('www.example.com', [443, 8443]), at('_a.example.com'), at('192.0.2.1'), at('2001:db8::1')],
  serverName: 'www.example.com',
  withHttpStatus: true,
};
const many = (length: number) => Array.from({ length }, (_, nth) => nth + 1);

describe('a question about hosts', () => {
  it('is read, without what does not belong to it', () => {
    expect(readLookQuestion(question)).toEqual(question);
    expect(readLookQuestion({ ...question, serverName: null })).toEqual({ ...question, serverName: null });
    expect(readLookQuestion({ ...question, newer: true })).toEqual(question);
    expect(readLookQuestion({ ...question, hosts: [{ ...at('a.example.com'), newer: true }] })).toEqual({
      ...question,
      hosts: [at('a.example.com')],
    });
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'www.example.com'],
    ['a list', [question]],
    ['no hosts', { ...question, hosts: undefined }],
    ['one host that is no list', { ...question, hosts: at('www.example.com') }],
    ['too many hosts', { ...question, hosts: many(101).map((nth) => at(`h${nth}.example.com`)) }],
    ['a host twice', { ...question, hosts: [at('www.example.com'), at('www.example.com', [8443])] }],
    ['a host without its ports', { ...question, hosts: ['www.example.com'] }],
    ['a wildcard', { ...question, hosts: [at('*.example.com')] }],
    ['a tree of names', { ...question, hosts: [at('.example.com')] }],
    ['another spelling', { ...question, hosts: [at('WWW.example.com')] }],
    ['a name of the inside', { ...question, hosts: [at('redis')] }],
    ['this machine', { ...question, hosts: [at('localhost')] }],
    ['an address in another spelling', { ...question, hosts: [at('0x7f.1')] }],
    ['an address of one machine', { ...question, hosts: [at('fe80::1%eth0')] }],
    ['a network', { ...question, hosts: [at('192.0.2.0/24')] }],
    ['a number for a host', { ...question, hosts: [at(1)] }],
    ['an address for a server name', { ...question, serverName: '192.0.2.1' }],
    ['no server name', { ...question, serverName: undefined }],
    ['a text for yes', { ...question, withHttpStatus: 'yes' }],
    ['no ports', { ...question, hosts: [at('www.example.com', [])] }],
    ['too many ports', { ...question, hosts: [at('www.example.com', many(5))] }],
    ['a port twice', { ...question, hosts: [at('www.example.com', [443, 443])] }],
    ['port 0', { ...question, hosts: [at('www.example.com', [0])] }],
    ['port 65536', { ...question, hosts: [at('www.example.com', [65_536])] }],
    ['half a port', { ...question, hosts: [at('www.example.com', [443.5])] }],
    ['a port as text', { ...question, hosts: [at('www.example.com', ['443'])] }],
  ])('is not %s', (_what, value) => {
    expect(readLookQuestion(value)).toBeNull();
  });
});
