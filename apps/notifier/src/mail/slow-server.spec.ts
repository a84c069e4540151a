import { MailFixture } from '../testing/mail-fixture';

jest.setTimeout(60_000);

type OnData = (stream: unknown, session: unknown, accept: (error: Error | null) => void) => void;

let fixture: MailFixture;
beforeAll(async () => {
  fixture = await MailFixture.open('Spec');
});
afterAll(async () => await fixture.close());

it('waits for a server that examines a mail for 16 s before it accepts it: a retry would be another copy', async () => {
  // RFC 5321, section 4.5.3.2.6: 10 minutes.
  const { server } = fixture.server as unknown as { server: { onData: OnData } };
  const onData = server.onData.bind(server);
  server.onData = (stream, session, accept) =>
    onData(stream, session, (error) => setTimeout(() => accept(error), 16_000));
  const planId = await fixture.object();
  const id = await fixture.certificate(planId, ['www.example.com']);
  const mailId = await fixture.notifier.mail({
    accountId: fixture.account,
    kind: 'certificate-issued',
    recipient: 'ops@example.com',
    facts: { certificateId: id },
  });
  await fixture.send.run(mailId);
  expect(fixture.server.received).toHaveLength(1);
  const [row] = await fixture.query(`SELECT state, attempts FROM mail WHERE id = $1`, [mailId]);
  expect(row).toEqual({ state: 'sent', attempts: 1 });
});
