import type { RequestedRecord } from './record-policy';
import { accountUri, digest, verdict, zone } from './testing/rules';

const own = 'k3jd8.approval.example.net';
const token = 'abcdefghij0123456789abcdefghij01';
type Attack = readonly [gain: string, wanted: Partial<RequestedRecord>];

/** A caller that may send anything, with an integration handle for example.com, and what it could gain. */
const attacks: readonly Attack[] = [
  // Mail in the customer's name.
  ['SPF at a name beside its mail server', { fqdn: 'mail.example.com', value: 'v=spf1 +all' }],
  ['SPF in an include', { fqdn: '_spf.example.com', value: 'v=spf1 +all' }],
  ['SPF in a numbered include', { fqdn: '_spf1.example.com', value: token }],
  ['a DKIM key', { fqdn: 'x._domainkey.example.com', value: 'v=DKIM1; p=MIGfMA0GCSqGSIb3' }],
  ['a DKIM key of the shape of a digest', { fqdn: 'x._domainkey.example.com', value: digest }],
  [
    'a DKIM key behind a selector with an underscore, by CNAME',
    { fqdn: '_x._domainkey.example.com', type: 'CNAME', value: own },
  ],
  ['a DKIM key behind a delegation', { fqdn: '_x._domainkey.example.com', type: 'NS', value: own }],
  ['all DKIM keys by delegation', { fqdn: '_domainkey.example.com', type: 'NS', value: own }],
  ['a DMARC policy', { fqdn: '_dmarc.example.com', value: 'v=DMARC1; p=none; rua=mailto:x@evil.test' }],
  ['a DMARC policy of the shape of a token', { fqdn: '_dmarc.example.com', value: token }],
  ['consent to DMARC reports', { fqdn: 'evil.test._report._dmarc.example.com', value: 'v=DMARC1' }],
  ['an MTA-STS policy id', { fqdn: '_mta-sts.example.com', value: 'v=STSv1; id=2;' }],
  ['an MTA-STS policy id as a token', { fqdn: '_mta-sts.example.com', value: token }],
  ['TLS reports', { fqdn: '_smtp._tls.example.com', value: 'v=TLSRPTv1; rua=mailto:x@evil.test' }],
  ['TLS reports by CNAME', { fqdn: '_smtp._tls.example.com', type: 'CNAME', value: own }],
  ['TLS reports by delegation of the parent', { fqdn: '_tls.example.com', type: 'NS', value: own }],
  ['a brand logo', { fqdn: 'default._bimi.example.com', value: digest }],
  [
    'a sender verified at SES',
    { fqdn: '_amazonses.example.com', value: 'cGFzc3dvcmQgaXMgbm90IHRoaXMgb25lIGF0IGFsbA=' },
  ],
  ['sending through a shared relay', { fqdn: '_mailchannels.example.com', value: token }],
  // The customer's accounts and identities elsewhere.
  [
    'a site verification with its name',
    { fqdn: 'www.example.com', value: `google-site-verification=${digest}` },
  ],
  [
    'a site verification with its name, at a free label',
    { fqdn: '_x1.example.com', value: `google-site-verification=${digest}` },
  ],
  ['an organization at GitHub', { fqdn: '_github-challenge-org.example.com', value: token }],
  ['a pages site at GitHub', { fqdn: '_github-pages-challenge-org.example.com', value: token }],
  ['a pages site at GitLab', { fqdn: '_gitlab-pages-verification-code.example.com', value: token }],
  ['a Discord server', { fqdn: '_discord.example.com', value: `dh=${token}` }],
  ['a handle at Bluesky', { fqdn: '_atproto.example.com', value: 'did=did:plc:ewvi7nxzyoun6zhxrhs64oiz' }],
  ['a handle at Bluesky by CNAME', { fqdn: '_atproto.example.com', type: 'CNAME', value: own }],
  ['the removal of a handle at Bluesky', { fqdn: '_atproto.example.com', value: token, replace: true }],
  ['an identity at Keybase', { fqdn: '_keybase.example.com', value: token }],
  ['content through DNSLink', { fqdn: '_dnslink.example.com', value: 'dnslink=/ipfs/bafy' }],
  ['a domain at Vercel', { fqdn: '_vercel.example.com', value: token }],
  [
    'a hostname at Cloudflare',
    { fqdn: '_cf-custom-hostname.example.com', value: '0e2f4a9e-1b1c-4f3a-9d63-2d6f8f6f7a10' },
  ],
  ['an App Service of Azure', { fqdn: 'asuid.www.example.com', value: 'A'.repeat(64) }],
  ['a payment address', { fqdn: 'user._bitcoin-payment.example.com', value: digest }],
  ['a Kerberos realm', { fqdn: '_kerberos.example.com', value: token }],
  ['an offer of the domain for sale', { fqdn: '_for-sale.example.com', value: 'v=FORSALE1;' }],
  ['a validation contact at a CA', { fqdn: '_validation-contactemail.example.com', value: 'x@evil.test' }],
  // Services.
  ['a host by CNAME', { fqdn: 'www.example.com', type: 'CNAME', value: own }],
  [
    'a host by CNAME that says it coexists',
    { fqdn: 'www.example.com', type: 'CNAME', value: own, replace: false },
  ],
  ['a zone cut', { fqdn: 'www.example.com', type: 'NS', value: 'ns.evil.test' }],
  ['a zone cut beside the name servers', { fqdn: 'sub.example.com', type: 'NS', value: own, replace: false }],
  ['the apex', { fqdn: 'example.com', value: digest }],
  ['the apex, spelled otherwise', { fqdn: 'EXAMPLE.com.', value: digest }],
  ['a service record by CNAME', { fqdn: '_sip._tcp.example.com', type: 'CNAME', value: own }],
  [
    'a service below a registered name',
    { fqdn: '_autodiscover._tcp.example.com', type: 'CNAME', value: own },
  ],
  ['TLSA records by delegation', { fqdn: '_25._tcp.mail.example.com', type: 'NS', value: own }],
  ['service bindings by delegation', { fqdn: '_https.example.com', type: 'NS', value: own }],
  ['a wildcard', { fqdn: '*.example.com', value: digest }],
  // Certificates.
  ['approvals by a name of its own', { type: 'CNAME', value: 'x.evil.test' }],
  ['approvals by a zone of its own', { type: 'NS', value: 'ns.evil.test' }],
  ['approvals by a zone that ends alike', { type: 'CNAME', value: 'x.evilapproval.example.net' }],
  ['approvals by the parent of the approval zone', { type: 'CNAME', value: 'x.example.net' }],
  ['approvals by the approval zone itself', { type: 'CNAME', value: 'approval.example.net' }],
  [
    'approvals by a name that goes on after the approval zone',
    { type: 'CNAME', value: 'x.approval.example.net.evil.test' },
  ],
  ['approvals by an escaped name', { type: 'CNAME', value: 'evil\\.test.approval.example.net' }],
  [
    'a persistent approval of its own account',
    {
      fqdn: '_validation-persist.example.com',
      value: 'ca.example; accounturi=https://ca.example/acme/acct/8',
    },
  ],
  [
    'a persistent approval at another CA',
    { fqdn: '_validation-persist.example.com', value: `evil.test; accounturi=${accountUri}` },
  ],
  [
    'a persistent approval of every account',
    { fqdn: '_validation-persist.example.com', value: 'plain-ca.example' },
  ],
  [
    'a persistent approval with two accounts',
    {
      fqdn: '_validation-persist.example.com',
      value: `ca.example; accounturi=${accountUri}; accounturi=https://ca.example/acme/acct/8`,
    },
  ],
  [
    'a persistent approval with what is not known',
    { fqdn: '_validation-persist.example.com', value: `ca.example; accounturi=${accountUri}; x=y` },
  ],
  [
    'a persistent approval whose end is no time',
    {
      fqdn: '_validation-persist.example.com',
      value: `ca.example; accounturi=${accountUri}; persistUntil=never`,
    },
  ],
  ['another CA', { fqdn: 'www.example.com', type: 'CAA', value: '0 issue "evil.test"' }],
  ['every account of the CA', { fqdn: 'www.example.com', type: 'CAA', value: '0 issue "ca.example"' }],
  [
    'another account of the CA',
    {
      fqdn: 'www.example.com',
      type: 'CAA',
      value: '0 issue "ca.example; accounturi=https://ca.example/acme/acct/8"',
    },
  ],
  [
    'an account that starts alike',
    { fqdn: 'www.example.com', type: 'CAA', value: `0 issue "ca.example; accounturi=${accountUri}8"` },
  ],
  ['no certificates any more', { fqdn: 'www.example.com', type: 'CAA', value: '0 issue ";"' }],
  ['no wildcards any more', { fqdn: 'www.example.com', type: 'CAA', value: '128 issuewild ";"' }],
  [
    'no certificates by an unknown method',
    { fqdn: 'www.example.com', type: 'CAA', value: '0 issue "plain-ca.example; validationmethods=none"' },
  ],
  [
    'no certificates by a parameter that is not understood',
    { fqdn: 'www.example.com', type: 'CAA', value: '0 issue "plain-ca.example; x=y"' },
  ],
  ['violation reports', { fqdn: 'www.example.com', type: 'CAA', value: '0 iodef "mailto:x@evil.test"' }],
  [
    'a tag that no CA understands, marked critical',
    { fqdn: 'www.example.com', type: 'CAA', value: '128 stop "x"' },
  ],
  ['a challenge that anyone may read a message into', { value: 'call +1 555 0100 for your refund' }],
  ['a challenge with a second string', { value: `${digest}" "v=spf1 +all` }],
  ['a server of its own', { type: 'A', value: '192.0.2.1' }],
  ['mail', { type: 'MX', value: '10 mx.evil.test' }],
  // Bypass attempts.
  ["another customer's name", { fqdn: '_acme-challenge.victim.test' }],
  ['a name that ends alike', { fqdn: '_acme-challenge.evilexample.com' }],
  ['a zone file line', { value: `${digest}\nwww 60 IN A 192.0.2.1` }],
  ['a name with a line of its own', { fqdn: '_acme-challenge.example.com\nwww.example.com' }],
  ['a loop', { type: 'CNAME', value: '_acme-challenge.www.example.com' }],
  ['a record that resolvers hold for a month', { ttl: 2_592_000 }],
];

describe('a captured backend gains', () => {
  it.each(attacks)('not %s', (_, wanted) => {
    expect(verdict(wanted)).toMatch(
      /^(policy_violation|invalid_value|out_of_range|zone_not_found) record\.[a-z]+$/,
    );
  });

  it.each([
    ['com', '_acme-challenge.victim.com'],
    ['co.uk', '_acme-challenge.victim.co.uk'],
    ['github.io', '_acme-challenge.victim.github.io'],
    ['.', '_acme-challenge.victim.com'],
  ])('nothing with its own provider that claims the zone %s', (claimed, fqdn) => {
    expect(verdict({ fqdn }, {}, [zone(claimed)])).toBe('zone_not_found record.fqdn');
  });

  it('nothing at the apex of a zone that was created for it', () => {
    const cut = [zone('example.com'), zone('_domainkey.example.com')];
    expect(verdict({ fqdn: '_x._domainkey.example.com', type: 'NS', value: own }, {}, cut)).toBe(
      'policy_violation record.fqdn',
    );
  });
});
