import type { FindingAlert, FindingEndpoint } from '@certwright/core-schema';
import type { AccountMail } from '@certwright/delivery';
import { MailFixture } from '../../testing/mail-fixture';

let fixture: MailFixture;
beforeAll(async () => {
  fixture = await MailFixture.open('Tools & Co');
});
afterAll(async () => await fixture.close());
beforeEach(async () => {
  await fixture.query(
    'TRUNCATE monitoring_finding, monitored_domain, monitoring_backfill, monitoring_account',
  );
});

const digest = (byte: string) => byte.repeat(32);

const alert: FindingAlert = {
  issuer: {
    friendly_name: 'R99',
    operator: 'Example Trust Services',
    website: 'https://trust.example',
    caa_domains: ['trust.example'],
  },
  problem_reporting: 'Send email to problems@trust.example',
  change: 'first',
  caa: 'allows',
  html_url: 'https://search.example.net/v1/issuances/7',
};

const endpoint = (dns_name: string, differences: Partial<FindingEndpoint> = {}): FindingEndpoint => ({
  dns_name,
  monitored_domain: '.example.com',
  wildcard: false,
  odd_name: false,
  ...differences,
});

interface Finding {
  readonly endpoints?: readonly FindingEndpoint[];
  readonly endpointCount?: number;
  readonly alert?: Partial<FindingAlert> | null;
  readonly state?: string;
  readonly source?: string;
  readonly backfillId?: string;
  readonly notBefore?: string | null;
  readonly keys?: boolean;
}

/** A finding of the account. @param byte of its digests, in hexadecimal; they are found in this order */
async function finding(
  byte: string,
  {
    endpoints = [endpoint('www.example.com')],
    endpointCount = endpoints.length,
    alert: differences = {},
    state = 'unknown',
    source = 'stream',
    backfillId,
    notBefore = '2026-11-20T12:00:00Z',
    keys = true,
  }: Finding = {},
): Promise<string> {
  await fixture.query(
    `INSERT INTO monitoring_finding (account_id, tbs_sha256, spki_sha256, issuer_spki_sha256, not_before, not_after,
       dns_names_sha256, endpoints, endpoint_count, dns_names, monitored_domains, source, backfill_id, state, reason,
       found_at, classify_at, acknowledged_at, alert)
     VALUES ($1, decode($2, 'hex'), decode($3, 'hex'), decode($4, 'hex'), $5, '2027-02-18T12:00:00Z', '\\x00', $6, $7,
       '{}', '{}', $8, $9, $10, 'unknown', '2026-11-21'::timestamptz + interval '1 s' * ('x' || $11)::bit(8)::int,
       CASE WHEN $10 = 'waiting' THEN now() END, CASE WHEN $10 = 'acknowledged' THEN now() END, $12)`,
    [
      fixture.account,
      digest(byte),
      keys ? digest('5a') : null,
      keys ? digest('15') : null,
      notBefore,
      JSON.stringify(endpoints),
      endpointCount,
      source,
      backfillId ?? null,
      state,
      byte,
      differences === null ? null : JSON.stringify({ ...alert, ...differences }),
    ],
  );
  return digest(byte);
}

const mailed = async ({ kind, facts }: Omit<AccountMail, 'accountId'>) => {
  const mail = { accountId: fixture.account, kind, facts } as AccountMail;
  const { notifier } = fixture;
  const id = await notifier.transactions.run(async (tx) => await notifier.mails.enqueueToAccount(tx, mail));
  return await fixture.sent(id ?? '0');
};
const certificates = async (
  tbsSha256: readonly string[],
  occasion: 'at-once' | 'gathered' | 'digest' = 'at-once',
) => await mailed({ kind: 'monitoring-certificates', facts: { tbsSha256, occasion } });

const whatToDo = `If a certificate is yours, authorize it:

  - this certificate: POST /api/v3/monitoring/known_certs with its "tbs_sha256"
  - every certificate with its key: POST /api/v3/monitoring/known_keys with its "pubkey_sha256" and "dns_names"

If it is not yours, report it to its issuer, which must revoke it. Then check who can change the DNS records and the web servers of the names.
`;
const settings = `
To get a mail per day or none instead, set "mail" to {"certificates": "digest"} or {"certificates": "off"} with POST /api/v3/monitoring/settings.
`;

describe('the mail about unknown certificates', () => {
  it('contains names, issuer, change, CAA, how to authorize it and how to have it revoked', async () => {
    const tbs = await finding('01', {
      endpoints: [
        endpoint('www.example.com'),
        endpoint('api.example.com', { wildcard: true }),
        endpoint('shop.example.net', { monitored_domain: 'shop.example.net' }),
      ],
      alert: { change: ['new_names', 'new_key'], caa: 'forbids' },
    });
    const received = await certificates([tbs]);
    expect(received?.mail.to).toMatchObject({ text: 'ops@example.com' });
    expect(received?.mail.subject).toBe('Unknown certificate for www.example.com');
    expect(received?.text)
      .toBe(`A certificate was found in Certificate Transparency that the account Tools & Co does not know.

The certificate:

  - For www.example.com, api.example.com (through a wildcard), monitored as .example.com
  - For shop.example.net, monitored as shop.example.net
  - Issued by Example Trust Services (https://trust.example)
  - SHA-256 of the key of its issuer: ${digest('15')}
  - Valid from 2026-11-20 12:00 UTC until 2027-02-18 12:00 UTC
  - Compared with the last certificate it has other names, another key
  - The CAA records of the names, as published now, forbid this issuer
  - tbs_sha256: ${tbs}
  - pubkey_sha256: ${digest('5a')}
  - To have it revoked, report it to its issuer: Send email to problems@trust.example

Details:
https://search.example.net/v1/issuances/7

${whatToDo}${settings}`);
    expect(received?.html).toContain('<a href="https://search.example.net/v1/issuances/7">Details</a>');
    expect(received?.html).toContain('monitored as <bdi><strong>.example.com</strong></bdi></li>');
  });

  it('counts and numbers gathered ones, the first of which is in the subject', async () => {
    const both = [
      await finding('02', { alert: { change: 'renewal', caa: 'unknown' } }),
      await finding('01', { endpoints: [endpoint('first.example.com')] }),
    ];
    const received = await certificates(both, 'gathered');
    expect(received?.mail.subject).toBe('2 unknown certificates, the first for first.example.com');
    for (const said of [
      '2 certificates were found in Certificate Transparency since the last mail that',
      'Certificate 1 of 2:\n\n  - For first.example.com,',
      'It is the first certificate that was found for these names',
      'The CAA records of the names, as published now, allow this issuer',
      'Certificate 2 of 2:\n\n  - For www.example.com,',
      'It has the names and the issuer of the last certificate',
      'It is not known whether the CAA records of the names allow this issuer',
    ])
      expect(received?.text).toContain(said);
  });

  it('is marked as the daily digest', async () => {
    const received = await certificates([await finding('01')], 'digest');
    expect(received?.mail.subject).toBe('Daily digest: 1 unknown certificate, the first for www.example.com');
    expect(received?.text).toContain('since the last daily digest');
  });

  it('contains 50 certificates, and counts the others', async () => {
    const all: string[] = [];
    for (let byte = 1; byte <= 52; byte += 1) all.push(await finding(byte.toString(16).padStart(2, '0')));
    const received = await certificates(all, 'digest');
    expect(received?.mail.subject).toBe(
      'Daily digest: 52 unknown certificates, the first for www.example.com',
    );
    expect(received?.text).toContain('Certificate 50 of 52:');
    expect(received?.text).not.toContain('Certificate 51 of 52:');
    expect(received?.text).toContain(
      'The others are listed by GET /api/v3/monitoring/certificates?state=unknown.',
    );
  });

  it('leaves out what became known or was acknowledged meanwhile, and is not sent without others', async () => {
    const known = await finding('01', { state: 'known' });
    const acknowledged = await finding('02', { state: 'acknowledged' });
    const unknown = await finding('03');
    const received = await certificates([known, acknowledged, unknown]);
    expect(received?.mail.subject).toBe('Unknown certificate for www.example.com');
    expect(received?.text).toContain(unknown);
    expect(await certificates([known, acknowledged])).toBeNull();
    expect(await certificates([])).toBeNull();
  });

  it('says that a test is a test', async () => {
    const test = await finding('01', {
      source: 'test',
      keys: false,
      alert: { caa: 'unknown', html_url: '' },
    });
    const received = await certificates([test]);
    expect(received?.mail.subject).toBe('Test: Unknown certificate for www.example.com');
    expect(received?.text).toContain(
      'This is a test of the alerts of the account Tools & Co, which was requested through the API. No certificate was issued.\n\nThe certificate (a test, it was not issued):\n\n  - For www',
    );
    expect(received?.text).not.toContain('Details');
    const mixed = await certificates([test, await finding('02')], 'gathered');
    expect(mixed?.mail.subject).toBe('2 unknown certificates, the first for www.example.com');
    expect(mixed?.text).toContain('A certificate was found in Certificate Transparency since');
    expect(mixed?.text).toContain('This mail also has a test of the alerts.');
  });

  it('shows ten names and counts the others', async () => {
    const endpoints = Array.from({ length: 12 }, (_, index) => endpoint(`n${index}.example.com`));
    const received = await certificates([await finding('01', { endpoints, endpointCount: 5_000 })]);
    expect(received?.text).toContain(
      'n9.example.com, monitored as .example.com\n  - and 4990 more of your names\n',
    );
    expect(received?.text).not.toContain('n10.example.com');
  });

  it('handles an entry that cannot be read, and an issuer of which nothing is known', async () => {
    const unreadable = await finding('01', {
      endpoints: [endpoint('www.example.com', { odd_name: true })],
      notBefore: null,
      keys: false,
      alert: {
        issuer: { friendly_name: 'CN=Forged', operator: null, website: null, caa_domains: null },
        problem_reporting: null,
      },
    });
    const received = await certificates([unreadable]);
    expect(received?.text).toContain(`
  - For www.example.com (part of a text that is not a DNS name), monitored as .example.com
  - The log entry could not be read as a certificate; the names were found in its bytes
  - Issued by a CA whose operator is not known
  - It is the first`);
    expect(received?.text).toContain('How to report it to its issuer is not known');
    expect(received?.text).not.toMatch(/Forged|null|Valid from|pubkey_sha256:/);
  });

  it('neutralizes hostile text from certificates and CAs, and limits its length', async () => {
    const tbs = await finding('01', {
      endpoints: [
        endpoint(`evil\r\nBcc: x@example.org\u202e\u2066.example.com${'a'.repeat(3_000)}`),
        endpoint('<img src=x>.example.com'),
        endpoint('=?utf-8?q?a=0ab?=.example.com'),
      ],
      alert: {
        issuer: {
          friendly_name: null,
          operator: 'Evil\n\nDear customer,\u2028click \u200b<a href="https://evil.example">here</a>',
          website: 'javascript:alert(1)',
          caa_domains: null,
        },
        problem_reporting: `\u0007${'x'.repeat(10_000)}`,
      },
    });
    const received = await certificates([tbs]);
    const raw = fixture.server.raw.at(-1) ?? '';
    expect(raw).not.toMatch(/^Bcc:/im);
    expect(received?.mail.subject).toMatch(
      /^Unknown certificate for evil\ufffd\ufffdBcc: x@example.org\ufffd\ufffd/,
    );
    expect((received?.mail.subject ?? '').length).toBeLessThan(100);
    for (const shown of [received?.text ?? '', received?.html ?? '']) {
      expect(shown).not.toMatch(/[\u202a-\u202e\u2066\u2067\u2028\u200b\u0007\r]/);
      expect(shown).not.toMatch(/x{256}|a{256}/);
      expect(shown).not.toContain('\n\nDear customer');
    }
    expect(received?.html).not.toMatch(/<img|<a href="https:\/\/evil|href="javascript/);
    expect(received?.html).toContain('&lt;img src=x&gt;.example.com');
  });

  it('is not sent to an account that was disabled meanwhile, and not written for one without an address', async () => {
    const tbs = await finding('01');
    const { notifier } = fixture;
    const mail = {
      accountId: fixture.account,
      kind: 'monitoring-certificates',
      facts: { tbsSha256: [tbs], occasion: 'at-once' },
    } as const;
    const enqueue = async () =>
      await notifier.transactions.run(async (tx) => await notifier.mails.enqueueToAccount(tx, mail));
    const id = (await enqueue()) ?? '';
    await fixture.query(`UPDATE account SET disabled_at = now() WHERE id = $1`, [fixture.account]);
    expect(await fixture.sent(id)).toBeNull();
    expect(await enqueue()).toBeNull();
    await fixture.query(`UPDATE account SET disabled_at = NULL WHERE id = $1`, [fixture.account]);
  });
});

describe('the summary of a domain that was added', () => {
  const backfill = async (found: number, unknown: number, state = 'done') => {
    await fixture.query(
      `INSERT INTO monitored_domain (account_id, name, enabled) VALUES ($1, '.example.com', true)`,
      [fixture.account],
    );
    await fixture.query(
      `INSERT INTO monitoring_backfill (change_id, account_id, name, until_position, state, found, unknown, finished_at)
       VALUES (7, $1, '.example.com', 1, $4, $2, $3, now())`,
      [fixture.account, found, unknown, state],
    );
  };
  const summary = async (indexSince: string | null = null) =>
    await mailed({ kind: 'monitoring-backfill', facts: { backfillId: '7', indexSince } });

  it('counts all, shows the newest unknown ones, and says that the index is complete', async () => {
    await backfill(40, 22);
    for (let byte = 1; byte <= 22; byte += 1) {
      await finding(byte.toString(16).padStart(2, '0'), {
        source: 'backfill',
        backfillId: '7',
        alert: null,
        notBefore: `2026-10-${String(byte).padStart(2, '0')}`,
      });
    }
    await finding('f0', { source: 'backfill', backfillId: '7', state: 'known' });
    const received = await summary();
    expect(received?.mail.subject).toBe('40 certificates found for .example.com, 22 unknown');
    expect(received?.text)
      .toContain(`The monitored domain .example.com of the account Tools & Co was added. 40 certificates were found for it, and 22 of them are unknown.

The index is complete: it has every certificate that has not expired.

These are the newest 20 of the unknown ones. GET /api/v3/monitoring/certificates?state=unknown lists all.

Certificate 1 of 20:

  - For www.example.com, monitored as .example.com
  - SHA-256 of the key of its issuer: ${digest('15')}
  - Valid from 2026-10-22 00:00 UTC until 2027-02-18 12:00 UTC
  - tbs_sha256: ${digest('16')}
  - pubkey_sha256: ${digest('5a')}

Certificate 2 of 20:
`);
    expect(received?.text.endsWith(whatToDo)).toBe(true);
    expect(received?.text).not.toContain(digest('02'));
  });

  it('says since when the index has certificates if it is not complete', async () => {
    await backfill(1, 0);
    expect((await summary('2026-05-01T00:00:00Z'))?.text)
      .toBe(`The monitored domain .example.com of the account Tools & Co was added. 1 certificate was found for it, and it is known.

The index is not complete: it has certificates that were logged since 2026-05-01. Older ones may still be valid.
`);
  });

  it.each([
    ['www.example.com', '.example.com', '.example.com'],
    ['.a.example.com', '.example.com', '.example.com'],
    ['a.b.example.com', '.b.example.com', '.b.example.com'],
  ])('is also sent for %s, which a deleted monitored domain had excluded from %s', async (name, _, tree) => {
    await backfill(3, 2);
    await fixture.query(
      `INSERT INTO monitored_domain (account_id, name, enabled)
       VALUES ($1, '.b.example.com', true), ($1, 'b.example.com', false), ($1, 'other.example.com', false)`,
      [fixture.account],
    );
    await fixture.query(`UPDATE monitoring_backfill SET name = $1`, [name]);
    const received = await summary();
    expect(received?.mail.subject).toBe(`3 certificates found for ${name}, 2 unknown`);
    expect(received?.text)
      .toBe(`The account Tools & Co now monitors ${name} as part of the monitored domain ${tree}. 3 certificates were found for it, and 2 of them are unknown.

The index is complete: it has every certificate that has not expired.
`);
  });

  it('is not sent for a name that a monitored domain still excludes', async () => {
    await backfill(1, 1);
    await fixture.query(
      `INSERT INTO monitored_domain (account_id, name, enabled) VALUES ($1, '.a.example.com', false)`,
      [fixture.account],
    );
    await fixture.query(`UPDATE monitoring_backfill SET name = 'www.a.example.com'`);
    expect(await summary()).toBeNull();
  });

  it.each([
    ['the domain was deleted', `DELETE FROM monitored_domain WHERE account_id = $1`],
    ['the domain was disabled', `UPDATE monitored_domain SET enabled = false WHERE account_id = $1`],
    ['the backfill was canceled', `UPDATE monitoring_backfill SET state = 'canceled' WHERE account_id = $1`],
  ])('is not sent when %s', async (_what, change) => {
    await backfill(1, 1);
    await fixture.query(change, [fixture.account]);
    expect(await summary()).toBeNull();
  });
});

it('reports the limit of findings per day, and how many were only counted', async () => {
  await fixture.query(
    `INSERT INTO monitoring_account (account_id, found_on, found, throttled) VALUES ($1, '2026-11-21', 10000, 812)`,
    [fixture.account],
  );
  const overflow = async (since: string) =>
    await mailed({ kind: 'monitoring-overflow', facts: { since, counted: 3 } });
  const received = await overflow('2026-11-21T18:04:00Z');
  expect(received?.mail.subject).toBe('Too many certificates for the monitored domains of Tools & Co');
  expect(received?.text)
    .toBe(`For the monitored domains of the account Tools & Co, 10000 certificates were found on 2026-11-21. This is the limit of a day.

Since 2026-11-21 18:04 UTC, further certificates are only counted, 812 so far: there is no alert for them, and they are not listed. This ends at 00:00 UTC.

Disable or delete monitored domains with many certificates that you do not need, or ask the operator for a higher limit.

GET /api/v3/monitoring/status shows the limit and how many certificates were found.
`);
  expect((await overflow('2026-11-20T18:04:00Z'))?.text).toContain('only counted, 3 so far');
});

it('reports that monitoring is behind, since when and up to where', async () => {
  const facts = { since: '2026-11-21T18:04:00Z', followedTo: '2026-11-21T18:03:00Z' };
  const received = await mailed({ kind: 'monitoring-behind', facts });
  expect(received?.mail.subject).toBe('The monitoring of certificates of Tools & Co is behind');
  expect(received?.text)
    .toBe(`The monitoring of certificates of the account Tools & Co has been behind since 2026-11-21 18:04 UTC. Certificates that were found until 2026-11-21 18:03 UTC are processed; alerts for later ones are delayed.

No alert is lost: later certificates are processed as soon as monitoring works again, and then you get another mail. The operator is notified.

GET /api/v3/monitoring/status shows the current state.
`);
});

it('reports that monitoring has caught up', async () => {
  const facts = { since: '2026-11-21T18:04:00Z', followedTo: '2026-11-21T20:00:00Z' };
  const received = await mailed({ kind: 'monitoring-caught-up', facts });
  expect(received?.mail.subject).toBe('The monitoring of certificates of Tools & Co has caught up');
  expect(received?.text)
    .toBe(`The monitoring of certificates of the account Tools & Co was behind since 2026-11-21 18:04 UTC, and is up to date again. Certificates that were found until 2026-11-21 20:00 UTC are processed.

No certificate was skipped. There is an alert for each unknown one.
`);
});

describe('the weekly mail', () => {
  const heartbeat = async (laggingLogs: readonly string[] = []) =>
    await mailed({
      kind: 'monitoring-heartbeat',
      facts: {
        since: '2026-11-20T06:00:00Z',
        until: '2026-11-27T06:00:00Z',
        followedTo: '2026-11-27T05:59:00Z',
        laggingLogs,
      },
    });
  const domains = async (...names: readonly string[]) => {
    for (const name of names) {
      await fixture.query(`INSERT INTO monitored_domain (account_id, name, enabled) VALUES ($1, $2, true)`, [
        fixture.account,
        name,
      ]);
    }
  };

  it('counts domains and certificates, and says until when everything is processed', async () => {
    await domains('.example.com', 'example.net');
    await finding('01', { state: 'known' });
    await finding('02', { state: 'known' });
    await finding('03');
    await finding('04', { state: 'acknowledged' });
    await finding('05', { source: 'test' });
    const received = await heartbeat();
    expect(received?.mail.subject).toBe('The monitoring of certificates of Tools & Co works');
    expect(received?.text)
      .toBe(`The account Tools & Co monitors 2 domains. 4 certificates were found (2 known, 1 unknown, 1 acknowledged) between 2026-11-20 06:00 UTC and 2026-11-27 06:00 UTC.

Certificates that were found until 2026-11-27 05:59 UTC are processed.

Every log is followed up to its end.

You get this mail every week, so that you notice when monitoring does not work. To turn it off, set "heartbeat" to "off" with POST /api/v3/monitoring/settings.
`);
  });

  it('lists logs that lag', async () => {
    await domains('.example.com');
    const received = await heartbeat(['Example Log 2026h2', 'Other\nLog']);
    expect(received?.text).toContain('monitors 1 domain. No certificate was found for them between');
    expect(received?.text).toContain(
      'in them are found later:\n\n  - Example Log 2026h2\n  - Other\ufffdLog\n',
    );
  });

  it('is not sent when nothing is monitored any more', async () => {
    expect(await heartbeat()).toBeNull();
  });
});

describe('the mail about a certificate that was not logged, or logged without being received', () => {
  it('names the certificate and the log entry that is missing', async () => {
    const planId = await fixture.object({ cn: 'shop.example.com' });
    const certificateId = await fixture.certificate(planId, ['shop.example.com']);
    await fixture.query(
      `UPDATE certificate SET tbs_sha256 = decode($2, 'hex'), sct_at = '2026-11-20T10:00:00Z',
         not_after = '2999-01-01T00:00:00Z' WHERE id = $1`,
      [certificateId, digest('77')],
    );
    const facts = { problem: 'not-logged', certificateId } as const;
    const received = await mailed({ kind: 'monitoring-not-logged', facts });
    expect(received?.mail.subject).toBe(
      'A certificate of shop.example.com is not in Certificate Transparency',
    );
    expect(received?.text)
      .toBe(`A certificate of the certificate object shop.example.com of the account Tools & Co was promised to a log on 2026-11-20 10:00 UTC, but it was not found there within 24 hours. It is valid until 2999-01-01 00:00 UTC for these names:

  - shop.example.com

Its serial number is 0a0b, and its tbs_sha256 ${digest('77')}.

Browsers accept the certificate as long as they trust the log. If the log does not publish it, they may reject it later. The operator is notified; you can replace the certificate before that.
`);
    await fixture.query(`UPDATE certificate SET revoked_at = now() WHERE id = $1`, [certificateId]);
    expect(await mailed({ kind: 'monitoring-not-logged', facts })).toBeNull();
  });

  it('reports a second certificate for one issuance, and one that was not received', async () => {
    const planId = await fixture.object({ cn: 'two.example.com' });
    const issuanceId = await fixture.issuance(planId, 'issued');
    const mail = async (problem: 'second-certificate' | 'not-received') =>
      await mailed({
        kind: 'monitoring-not-logged',
        facts: { problem, issuanceId, tbsSha256: digest('88') },
      });
    const second = await mail('second-certificate');
    expect(second?.mail.subject).toBe('A second certificate for two.example.com was logged');
    expect(second?.text)
      .toBe(`For the certificate object two.example.com of the account Tools & Co, one certificate was requested for these names, but a second one with the same key was logged:

  - two.example.com

Its tbs_sha256 is ${digest('88')}.

The CA may have repeated the issuance after an error. Only the certificate that you have received is renewed and revoked here. The operator is notified.
`);
    const missing = await mail('not-received');
    expect(missing?.mail.subject).toBe('A certificate for two.example.com was logged but not received');
    expect(missing?.text)
      .toBe(`For the certificate object two.example.com of the account Tools & Co, a certificate was requested for these names. One with its key was logged, but the CA has not returned it within an hour after the end of the issuance:

  - two.example.com

Its tbs_sha256 is ${digest('88')}.

Only servers with your key can use it. The operator is notified and can have it revoked.
`);
  });
});

describe('the mail about endpoints', () => {
  const expired = {
    ...{ code: 'expired', port: 443, addresses: ['192.0.2.1'], parameters: {}, level: 0, missing: 0 },
    ...{ since: '2026-11-20T12:00:00.000Z', agreeing: 3, reportedAt: null, reportedLevel: 0 },
  };
  /** @returns its id */
  const report = async (dnsName: string, kind: string, accountId = fixture.account) => {
    const [row] = await fixture.query<{ id: string }>(
      `INSERT INTO endpoint_report (account_id, dns_name, kind, findings, mail_due) VALUES ($1, $2, $3, $4, false)
       RETURNING id`,
      [accountId, dnsName, kind, JSON.stringify([expired])],
    );
    return row?.id ?? '0';
  };
  const mail = async (...reportIds: readonly string[]) =>
    await mailed({ kind: 'monitoring-endpoints', facts: { reportIds, occasion: 'gathered' } });

  beforeEach(async () => {
    await fixture.query('TRUNCATE endpoint_report, monitored_endpoint');
    await fixture.query(
      `INSERT INTO monitored_endpoint (account_id, dns_name, muted)
       VALUES ($1, 'www.example.com', false), ($1, 'api.example.com', false), ($1, 'muted.example.com', true)`,
      [fixture.account],
    );
  });

  it('shows the reports of the account about endpoints that exist and are not muted', async () => {
    const other = await fixture.notifier.account('Other');
    await fixture.query(
      `INSERT INTO monitored_endpoint (account_id, dns_name) VALUES ($1, 'other.example')`,
      [other],
    );
    const ids = [
      await report('www.example.com', 'problem'),
      await report('muted.example.com', 'problem'),
      await report('deleted.example.com', 'problem'),
      await report('other.example', 'problem', other),
      await report('api.example.com', 'recovered'),
    ];
    const received = await mail(...ids);
    expect(received?.mail.subject).toBe('www.example.com: the certificate has expired');
    expect(received?.text).toContain('www.example.com:\n\n  - Port 443 on 192.0.2.1: the certificate has');
    expect(received?.text).toContain('  - api.example.com, port 443 on 192.0.2.1: the certificate has');
    expect(received?.html).toContain('<p><bdi><strong>www.example.com</strong></bdi>:</p>');
    expect(received?.text).not.toMatch(/muted\.example|deleted|other\.example/);
    expect(await mail(...ids.slice(1, 4))).toBeNull();
  });

  it('goes to the operator when reports are held back', async () => {
    const id = await fixture.notifier.mail({
      accountId: null,
      kind: 'monitoring-endpoints-held',
      recipient: 'operator@example.net',
      facts: { since: '2026-11-21T09:30:00Z', countedFrom: '2026-11-21T03:30:00Z', checked: 120, bad: 34 },
    });
    const received = await fixture.sent(id);
    expect(received?.mail.to).toMatchObject({ text: 'operator@example.net' });
    expect(received?.text).toContain(
      'Of 120 endpoints that were checked since 2026-11-21 03:30 UTC, 34 turned',
    );
  });
});
