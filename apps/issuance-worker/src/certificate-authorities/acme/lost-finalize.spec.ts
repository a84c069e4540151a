import { decodePem } from '@certwright/pki';
import { altered, FakeAcmeServer, silence, withMembers } from '../../acme/testing/fake-acme-server';
import { AcmeIssuing } from '../../testing/acme-issuing';
import { type OpenedIssuance, opensslCsr } from '../../testing/opened-issuance';

const dnsNames = ['one.example.com'];
const csr = opensslCsr(dnsNames);
let acme: AcmeIssuing;
let server: FakeAcmeServer;
beforeAll(async () => {
  acme = await AcmeIssuing.open({ responseMs: 500 });
  server = await FakeAcmeServer.start();
  const root = decodePem(server.tlsRoot, 1);
  const trustedRoots = root.ok ? root.blocks.map(({ der }) => Buffer.from(der)) : [];
  const { directoryUrl, tlsRoot: tlsRoots } = server;
  await acme.authority({ name: 'faulty', directoryUrl, tlsRoots, trustedRoots });
  await acme.authoritiesAre('faulty');
}, 30_000);
afterAll(async () => {
  await server.stop();
  await acme.close();
});
beforeEach(async () => {
  server.clearOverrides();
  await acme.database.query(
    `UPDATE certificate_authority SET down_until = NULL, down_since = NULL, down_for = NULL, problem = NULL`,
  );
});
const order = async () => await acme.order(dnsNames, csr);
const run = async ({ issuanceId }: OpenedIssuance) => {
  await acme.timePasses();
  await acme.database.query(`UPDATE certificate_authority SET down_until = NULL`);
  await acme.worker().run(issuanceId);
  return await acme.state(issuanceId);
};
const next = (resource: string) => `/${resource}/${server.orders.orders.length}`;
const problem = (status: number, type: string) =>
  altered({
    status,
    headers: { 'content-type': 'application/problem+json' },
    body: JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail: 'no' }),
  });

it('continues with the order of an ended issuance whose finalize never reached the CA', async () => {
  const [finalize, read] = [next('finalize'), next('order')];
  server.override(finalize, problem(500, 'serverInternal')).override(read, withMembers({ status: 'ready' }));
  const first = await order();
  await run(first);
  const [{ order_url: url } = { order_url: null }] = await acme.orders(first);
  await acme.database.query(
    `UPDATE issuance SET state = 'superseded', closed_at = now(), leased_until = NULL WHERE id = $1`,
    [first.issuanceId],
  );
  server.clearOverrides();
  const second = await order();
  // As Boulder: an order of the account for the same names that is ready and not expired.
  server.override('/newOrder', (correct) => ({
    ...correct,
    headers: { ...correct.headers, location: url ?? '' },
    body: JSON.stringify({ ...(JSON.parse(correct.body) as object), status: 'ready' }),
  }));
  await run(second);
  expect(await acme.orders(second)).toMatchObject([{ state: 'wanted', order_url: null }]);
  await acme.database.query(
    `UPDATE acme_order SET finalized_at = now() - interval '2 hours' WHERE issuance_id = $1`,
    [first.issuanceId],
  );
  await run(second);
  expect(await acme.orders(first)).toMatchObject([{ state: 'failed' }]);
  expect(await acme.orders(second)).toMatchObject([{ order_url: url }]);
}, 60_000);

it('keeps a finalized order whose repeated finalize is refused while it cannot be read', async () => {
  const [finalize, read] = [next('finalize'), next('order')];
  let sent = 0;
  server
    // Issues, but its response is lost; a repetition is refused by a type of its own.
    .override(finalize, (correct, socket) => {
      sent += 1;
      return (sent === 1 ? silence : problem(403, 'malformed'))(correct, socket);
    })
    // Shows the order as ready while it issues; then it is overloaded.
    .override(read, (correct, socket) =>
      (sent < 2 ? withMembers({ status: 'ready' }) : problem(500, 'serverInternal'))(correct, socket),
    );
  const opened = await order();
  const before = server.orders.orders.length;
  expect(await run(opened)).toMatchObject({ state: 'open', failures: 0 });
  expect(await acme.orders(opened)).toMatchObject([{ state: 'open' }]);
  server.clearOverrides();
  await run(opened);
  expect(server.orders.orders.length - before).toBe(1);
}, 60_000);
