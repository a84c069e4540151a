import { readInstallationQuestion } from './installation-question';

const digest = 'ab'.repeat(32);
const question = {
  hosts: ['www.example.com', '192.0.2.1', '2001:db8::1'],
  port: 443,
  serverName: 'www.example.com',
  leafSha256: digest,
  chainSha256: [digest],
  temporarySha256: [],
};

describe('a question about an installation', () => {
  it('is read, without what does not belong to it', () => {
    expect(readInstallationQuestion(question)).toEqual(question);
    expect(readInstallationQuestion({ ...question, newer: true })).toEqual(question);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'www.example.com'],
    ['a list', [question]],
    ['no hosts', { ...question, hosts: undefined }],
    ['one host that is no list', { ...question, hosts: 'www.example.com' }],
    ['too many hosts', { ...question, hosts: Array.from({ length: 101 }, (_, at) => `h${at}.example.com`) }],
    ['a wildcard', { ...question, hosts: ['*.example.com'] }],
    ['another spelling', { ...question, hosts: ['WWW.example.com'] }],
    ['a name of the inside', { ...question, hosts: ['redis'] }],
    ['this machine', { ...question, hosts: ['localhost'] }],
    ['an address in another spelling', { ...question, hosts: ['0x7f.1'] }],
    ['an address of one machine', { ...question, hosts: ['fe80::1%eth0'] }],
    ['a network', { ...question, hosts: ['192.0.2.0/24'] }],
    ['a number for a host', { ...question, hosts: [1] }],
    ['an address for a server name', { ...question, serverName: '192.0.2.1' }],
    ['port 0', { ...question, port: 0 }],
    ['port 65536', { ...question, port: 65_536 }],
    ['half a port', { ...question, port: 443.5 }],
    ['a port as text', { ...question, port: '443' }],
    ['a digest in capitals', { ...question, leafSha256: digest.toUpperCase() }],
    ['no digest', { ...question, chainSha256: [''] }],
    ['too many digests', { ...question, temporarySha256: Array<string>(101).fill(digest) }],
  ])('is not %s', (_what, value) => {
    expect(readInstallationQuestion(value)).toBeNull();
  });
});
