import { MailFixture } from '../../testing/mail-fixture';

let fixture: MailFixture;
let planId: string;
beforeAll(async () => {
  fixture = await MailFixture.open('Söhne & <b>Co</b>');
  planId = await fixture.object();
});
afterAll(async () => await fixture.close());

const lines = [
  { description: 'Certificates for example.com, one year', quantity: 2, unitCents: 1_000, cents: 2_000 },
  { description: 'Wildcard *.example.com', quantity: 1, unitCents: 123_456, cents: 123_456 },
];

let invoices = 0;
/** @returns its number */
async function invoice({ note = null, of = lines }: { note?: string | null; of?: object[] } = {}) {
  invoices += 1;
  const number = `${fixture.account}-${invoices}`;
  const issuanceId = await fixture.issuance(planId, 'issued');
  const [charge] = await fixture.query<{ id: string }>(
    `INSERT INTO charge (account_id, plan_id, made_for_issuance_id, issuance_id, kind, product, names, wildcards,
       paid_through, before, cents, currency)
     VALUES ($1, $2, $3, $3, 'term', 'paid_ca', 2, 1, now() + interval '1 year', '{}', 125456, 'USD') RETURNING id`,
    [fixture.account, planId, issuanceId],
  );
  await fixture.query(
    `INSERT INTO invoice (number, account_id, charge_id, lines, total_cents, currency, note, email_to, issued_at)
     VALUES ($1, $2, $3, $4, 125456, 'USD', $5, 'books@example.com', '2026-11-20T23:59:59Z')`,
    [number, fixture.account, charge?.id, JSON.stringify(of), note],
  );
  return number;
}

const mailed = async (invoiceNumber: string) =>
  await fixture.mail({ kind: 'invoice', recipient: 'books@example.com', facts: { invoiceNumber } });

it('contains number, date, account, items and the total', async () => {
  const number = await invoice();
  const received = await mailed(number);
  expect(received?.mail.subject).toBe(`Invoice ${number} for USD 1254.56`);
  expect(received?.mail.to).toMatchObject({ text: 'books@example.com' });
  expect(received?.text).toContain(
    [
      `Invoice ${number} of 2026-11-20 for the account Söhne & <b>Co</b>:`,
      '',
      'Description                             Quantity  Unit price (USD)  Amount (USD)',
      '--------------------------------------  --------  ----------------  ------------',
      'Certificates for example.com, one year         2             10.00         20.00',
      'Wildcard *.example.com                         1           1234.56       1234.56',
      'Total                                                                    1254.56',
      '',
      'The total of USD 1254.56 was taken from the balance of the account.',
    ].join('\n'),
  );
  expect(received?.html).toContain('Söhne &amp; &lt;b&gt;Co&lt;/b&gt;');
  expect(received?.html).toMatch(/<th style="[^"]*text-align: end">Amount \(USD\)<\/th>/);
  expect(received?.html).toContain('>1234.56</td>');
  expect(received?.text).not.toContain('Note');
});

it('contains the note of the buyer line by line, as plain text', async () => {
  const note = 'Order 7\r\n<img src=x>\n\n\u202egnp.exe';
  const received = await mailed(await invoice({ note }));
  expect(received?.text).toContain('Note of the buyer:\n\n  - Order 7\n  - <img src=x>\n  - \ufffdgnp.exe\n');
  expect(received?.html).toContain('&lt;img src=x&gt;');
  expect(received?.html).not.toContain('<img');
  const single = await mailed(await invoice({ note: 'Order 7' }));
  expect(single?.text).toContain('Note of the buyer: Order 7\n');
});

it.each(['x'.repeat(10_000), '😀'.repeat(10_000), '\n'.repeat(10_000), 'a\n'.repeat(10_000)])(
  'is a valid mail with a note of ten thousand characters or lines',
  async (note) => {
    const received = await mailed(await invoice({ note }));
    expect(received?.text.length).toBeLessThan(4_000);
  },
);

it('keeps a description of any length inside its column', async () => {
  const [line] = lines;
  const description = `Names: ${'a'.repeat(63)}.example.com and <b>so on</b>`;
  const received = await mailed(await invoice({ of: [{ ...line, description }] }));
  const table = received?.text.split('\n').filter((text) => /^(Names|a{10}|<b>|\.)/.test(text));
  expect(table?.map(({ length }) => length <= 90)).not.toContain(false);
  expect(received?.html).not.toContain('<b>so on');
});

it.each([
  ['what was bought is given back meanwhile', `UPDATE invoice SET refunded_at = now() WHERE number = $1`],
  [
    'the account is disabled',
    `UPDATE account SET disabled_at = now() FROM invoice WHERE account.id = account_id AND number = $1`,
  ],
])('is not sent when %s', async (_, change) => {
  const number = await invoice();
  await fixture.query(change, [number]);
  expect(await mailed(number)).toBeNull();
  await fixture.query(`UPDATE account SET disabled_at = NULL`);
});

it('is not sent when there is no invoice with the number', async () => {
  expect(await mailed('1-1')).toBeNull();
});
