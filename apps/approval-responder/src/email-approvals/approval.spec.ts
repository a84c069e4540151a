import { createHash } from 'node:crypto';
import { type OrderedApproval, RunningResponder } from '../testing/running-responder';

const accountId = '1000000000001';
let responder: RunningResponder;

beforeAll(async () => {
  responder = await RunningResponder.start();
  await responder.tenant(accountId, 'Example & Sons');
});
afterAll(async () => await responder.stop());

let orders = 0;
const order = async (name?: string) => await responder.order(accountId, `n${++orders}.example.com`, name);

const pageOf = ({ token }: Pick<OrderedApproval, 'token'>) => `/approve/${token}`;
const show = async (link: Pick<OrderedApproval, 'token'>) => await responder.call('GET', pageOf(link));
const press = async (
  link: Pick<OrderedApproval, 'token'>,
  headers: Record<string, string> = {},
  body = 'decision=approve',
) =>
  await responder.call('POST', pageOf(link), {
    body,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

const unknown = { token: 'u'.repeat(43) };

describe('the page of a link', () => {
  it('shows what is approved, with one button', async () => {
    const ordered = await order('my order');
    const { status, headers, text } = await show(ordered);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    for (const shown of [
      ordered.dnsName,
      ordered.address,
      'my order',
      'Example &amp; Sons',
      'paid_ca',
      'ab'.repeat(32),
    ]) {
      expect(text).toContain(shown);
    }
    expect(text.match(/<button/g)).toHaveLength(1);
    expect(text).toContain('<form method="post">');
  });

  it('is restricted: no scripts, no frames, no referrer, no caching', async () => {
    const { headers, text } = await show(await order());
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'x-robots-tag': 'noindex',
    });
    const [, style = ''] = /<style>([^]*)<\/style>/.exec(text) ?? [];
    const digest = createHash('sha256').update(style).digest('base64');
    expect(headers['content-security-policy']).toBe(
      `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
    );
    expect(text).not.toMatch(/<script|javascript:|https?:/);
  });

  it('shows any order name as text', async () => {
    const name = `"><script>alert('x')</script>&amp;<b>`;
    const { text } = await show(await order(name));
    expect(text).toContain('&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;&lt;b&gt;');
    expect(text).not.toContain('<script');
  });
});

describe('approving', () => {
  it('is the button’s POST: it stores the approval and wakes the issuance', async () => {
    const ordered = await order();
    await responder.database.query(
      `UPDATE issuance SET due_at = now() + interval '1 h', opened_at = now() - interval '1 h' WHERE id = $1`,
      [ordered.issuanceId],
    );
    const { status, text } = await press(ordered, { 'sec-fetch-site': 'same-origin', origin: 'null' });
    expect(status).toBe(200);
    expect(text).toContain('<h1>Approved</h1>');
    expect(await responder.approvedAt(ordered)).not.toBeNull();
    const due = await responder.database.query<[{ due: boolean }]>(
      `SELECT due_at <= now() AS due FROM issuance WHERE id = $1`,
      [ordered.issuanceId],
    );
    expect(due).toEqual([{ due: true }]);
  });

  it('is not possible for a mail scanner that follows links, prefetches, or posts without the button', async () => {
    const ordered = await order();
    for (const method of ['GET', 'HEAD', 'GET']) {
      const response = await responder.call(method, pageOf(ordered), {
        headers: { purpose: 'prefetch', 'sec-purpose': 'prefetch' },
      });
      expect(response.status).toBe(200);
    }
    for (const body of ['', 'decision=other', 'decision=approve&decision=approve'])
      await press(ordered, {}, body);
    await responder.call('POST', pageOf(ordered));
    expect(await responder.approvedAt(ordered)).toBeNull();
    expect((await press(ordered)).status).toBe(200);
    expect(await responder.approvedAt(ordered)).not.toBeNull();
  });

  it('is done once: a second press changes nothing', async () => {
    const ordered = await order();
    const answers = await Promise.all([press(ordered), press(ordered)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410]);
    const approvedAt = await responder.approvedAt(ordered);
    expect((await press(ordered)).status).toBe(410);
    expect((await show(ordered)).status).toBe(410);
    expect(await responder.approvedAt(ordered)).toEqual(approvedAt);
  });

  it.each([
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site' }],
    [{ 'sec-fetch-site': 'none' }],
    [{ origin: 'https://evil.example' }],
    [{ 'sec-fetch-site': 'cross-site', origin: 'http://127.0.0.1:4330' }],
  ])('is not accepted from another site’s form: %j', async (headers) => {
    const ordered = await order();
    expect((await press(ordered, headers)).status).toBe(403);
    expect(await responder.approvedAt(ordered)).toBeNull();
    expect((await show(ordered)).status).toBe(200);
  });

  it.each([[{}], [{ origin: 'null' }], [{ origin: 'http://127.0.0.1:4330' }]])(
    'is accepted from older browsers and programs, by the token alone: %j',
    async (headers) => expect((await press(await order(), headers)).status).toBe(200),
  );
});

describe('a link that is not in use', () => {
  it('returns the same page: 404 when it never existed, 410 when it did', async () => {
    const [expired, deleted, other] = [await order(), await order(), await order()];
    await responder.database.query(
      `UPDATE email_approval_token SET expires_at = now() WHERE approval_id IN (SELECT id FROM email_approval WHERE plan_id = $1)`,
      [expired.planId],
    );
    await responder.database.query(`DELETE FROM order_v3 WHERE plan_id = $1`, [deleted.planId]);
    await responder.database.query(`UPDATE plan SET closed_at = now() WHERE id = $1`, [deleted.planId]);
    await responder.database.query(
      `UPDATE order_v3 SET approver_emails = jsonb_build_object($2::text, 'webmaster@example.com') WHERE plan_id = $1`,
      [other.planId, other.dnsName],
    );
    const { text } = await show(unknown);
    for (const [link, status] of [
      [unknown, 404],
      [{ token: 'short' }, 404],
      [{ token: 'x'.repeat(900) }, 404],
      [{ token: '..%2fx' }, 404],
      [expired, 410],
      [deleted, 410],
      [other, 410],
    ] as const) {
      expect(await show(link)).toMatchObject({ status, text });
      expect(await press(link)).toMatchObject({ status, text });
    }
    for (const ordered of [expired, deleted, other]) expect(await responder.approvedAt(ordered)).toBeNull();
  });

  it('is not approved over an order of the same name in another account', async () => {
    const other = '1000000000002';
    await responder.tenant(other);
    const [mine, theirs] = [
      await responder.order(accountId, 'same.example.com'),
      await responder.order(other, 'same.example.com'),
    ];
    await press(mine);
    expect(await responder.approvedAt(theirs)).toBeNull();
  });
});

describe('other methods and the log', () => {
  it('returns 405 with Allow', async () => {
    const response = await responder.call('DELETE', pageOf(unknown));
    expect(response.status).toBe(405);
    expect(response.headers['allow']).toBe('GET, HEAD, OPTIONS, POST');
  });

  it.each([
    ['text/plain', 'decision=approve', 415],
    ['application/json', '{', 400],
    ['application/x-www-form-urlencoded', '%ff', 400],
  ])('refuses a body of %s that it cannot read', async (contentType, body, status) => {
    const ordered = await order();
    expect((await press(ordered, { 'content-type': contentType }, body)).status).toBe(status);
    expect(await responder.approvedAt(ordered)).toBeNull();
  });

  it('never writes a token', async () => {
    const ordered = await order();
    await show(ordered);
    await press(ordered);
    const log = responder.logLines.join('\n');
    expect(log).toContain('/approve/:token');
    expect(log).not.toContain(ordered.token);
  });
});
