import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { MemoryZones } from '../memory/memory-zones';
import { a, cname, ns, txt, zone } from '../testing/zones';
import { DnsServer } from './dns-server';

const run = promisify(execFile);
const isThere = (tool: string) => spawnSync(tool, ['-v'], { timeout: 5_000 }).error === undefined;
const describeWithTools = isThere('dig') && isThere('nsupdate') ? describe : describe.skip;

describeWithTools('as dig and nsupdate of BIND see it (skipped where they are not installed)', () => {
  const big = Array.from({ length: 12 }, (_, n) => txt('big.example.com', `${n}`.padEnd(200, 'x')));
  const com = zone(
    'example.com',
    a('www.example.com', '127.0.0.2', 61),
    cname('alias.example.com', 'www.example.com'),
    ns('_acme-challenge.www.example.com', 's3cret.approval.example.net'),
    ...big,
  );
  const zones = new MemoryZones([com, zone('example.net')], { updatable: ['example.com'] });
  const server = new DnsServer({ host: '127.0.0.1', port: 0, source: zones, updates: zones });
  let port = 0;
  beforeAll(async () => {
    ({ port } = await server.listen());
  });
  afterAll(() => server.close());

  const dig = async (...args: string[]) =>
    (await run('dig', ['@127.0.0.1', '-p', String(port), '+tries=1', '+timeout=20', ...args])).stdout;

  /** @returns what nsupdate complains of, or '' */
  const nsupdate = (...lines: string[]) =>
    new Promise<string>((resolve) => {
      const child = execFile('nsupdate', ['-v'], { timeout: 5_000 }, (_error, _stdout, stderr) =>
        resolve(stderr),
      );
      child.stdin?.end([`server 127.0.0.1 ${port}`, 'zone example.com.', ...lines, 'send', ''].join('\n'));
    });

  it('dig sees status, flags and sections', async () => {
    const answer = await dig('alias.example.com', 'A');
    expect(answer).toMatch(/status: NOERROR/);
    expect(answer).toMatch(/flags: qr aa rd;/);
    expect(answer).toMatch(/EDNS: version: 0, flags:; udp: 1232/);
    expect(answer).toMatch(/www\.example\.com\.\s+61\s+IN\s+A\s+127\.0\.0\.2/);
    expect(answer).not.toMatch(/malformed|Warning|WARNING: (?!recursion)/);
  });

  it('dig sees NXDOMAIN, NODATA, a referral, REFUSED, BADVERS and a failed transfer', async () => {
    expect(await dig('no.example.com')).toMatch(
      /status: NXDOMAIN[^]*AUTHORITY SECTION:\nexample\.com\.\s+30\s+IN\s+SOA/,
    );
    expect(await dig('www.example.com', 'TXT')).toMatch(/status: NOERROR[^]*ANSWER: 0, AUTHORITY: 1/);
    const referral = await dig('_acme-challenge.www.example.com', 'TXT');
    expect(referral).toMatch(/flags: qr rd;[^]*_acme-challenge[^\n]*NS\s+s3cret\.approval\.example\.net\./);
    expect(await dig('example.org')).toMatch(/status: REFUSED/);
    expect(await dig('version.bind', 'TXT', 'CH')).toMatch(/status: REFUSED/);
    expect(await dig('www.example.com', '+edns=1', '+noednsnegotiation')).toMatch(/status: BADVERS/);
    expect(await dig('example.com', 'AXFR')).toMatch(/Transfer failed/);
    expect(await dig('example.com', 'ANY', '+notcp')).toMatch(/HINFO\s+"RFC8482" ""/);
  });

  it('dig comes back over TCP for what does not fit, and follows 0x20', async () => {
    expect((await dig('big.example.com', 'TXT', '+short')).trim().split('\n')).toHaveLength(12);
    expect(await dig('big.example.com', 'TXT', '+ignore')).toMatch(/flags: qr aa tc rd;/);
    expect(await dig('wWw.ExAmPle.cOm')).toMatch(/;wWw\.ExAmPle\.cOm\.\s+IN\s+A/);
  });

  it('nsupdate adds, checks and deletes', async () => {
    const serial = com.soa.data.serial;
    const name = '_acme-challenge.example.com.';
    const long = 'x'.repeat(300).replace(/^.{250}/, '$&" "');
    expect(
      await nsupdate(`prereq nxdomain ${name}`, `add ${name} 60 TXT "one"`, `add ${name} 60 TXT "${long}"`),
    ).toBe('');
    expect(com.soa.data.serial).toBe(serial + 1);
    expect((await dig(name, 'TXT', '+short')).trim().split('\n')).toHaveLength(2);
    expect(await nsupdate(`prereq nxdomain ${name}`, `add ${name} 60 TXT "two"`)).toMatch(/YXDOMAIN/);
    expect(await nsupdate(`prereq nxrrset ${name} TXT`, `add ${name} 60 TXT "two"`)).toMatch(/YXRRSET/);
    expect(await nsupdate(`prereq yxrrset ${name} TXT "one"`, `del ${name}`)).toMatch(/NXRRSET/);
    expect(await nsupdate(`prereq yxdomain ${name}`, `del ${name} TXT "one"`)).toBe('');
    expect(await dig(name, 'TXT', '+short')).not.toMatch(/one/);
    expect(await nsupdate(`prereq yxrrset ${name} TXT`, `del ${name} TXT`)).toBe('');
    expect(await dig(name, 'TXT')).toMatch(/status: NXDOMAIN/);
  });

  it('nsupdate writes each type that a zone holds, and they come back the same', async () => {
    const records = [
      ['a', 'A', '127.0.0.77'],
      ['aaaa', 'AAAA', '2001:db8::1'],
      ['cname', 'CNAME', 'www.example.com.'],
      ['ns', 'NS', 'ns.elsewhere.test.'],
      ['caa', 'CAA', '128 issue "ca.example; accounturi=https://ca.example/1"'],
      ['txt', 'TXT', '"a b" "c;d"'],
    ];
    expect(
      await nsupdate(
        ...records.map((parts) => `add typed-${parts[0]}.example.com. 5 ${parts.slice(1).join(' ')}`),
      ),
    ).toBe('');
    for (const [name, type = '', content] of records) {
      const section = type === 'NS' ? '+authority' : '+answer';
      const [line = ''] = (await dig(`typed-${name}.example.com`, type, '+noall', section)).split('\n');
      expect(line.replace(/\s+/g, ' ')).toBe(`typed-${name}.example.com. 5 IN ${type} ${content}`);
    }
  });

  it('nsupdate reports which zones it may not update', async () => {
    expect(await nsupdate('add other.example.org. 60 A 127.0.0.1')).toMatch(/NOTZONE/);
    expect(await nsupdate('zone example.net.', 'add x.example.net. 60 A 127.0.0.1')).toMatch(/REFUSED/);
    expect(await nsupdate('zone example.org.', 'add x.example.org. 60 A 127.0.0.1')).toMatch(/NOTAUTH/);
    expect(await nsupdate('add mx.example.com. 60 MX 10 www.example.com.')).toMatch(/REFUSED/);
  });
});
