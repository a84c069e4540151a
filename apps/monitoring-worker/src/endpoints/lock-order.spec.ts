import { eventually } from '@certwright/testing';
import { EndpointReports } from './endpoint-reports';
import { RecordFindings } from '../findings/record-findings';
import { EndpointsFixture, hourMs } from '../testing/endpoints-fixture';
import { issuanceFor } from '../testing/findings-fixture';

jest.setTimeout(60_000);

let fixture: EndpointsFixture;
beforeAll(async () => {
  fixture = await EndpointsFixture.open();
});
afterAll(async () => await fixture.close());
afterEach(() => jest.restoreAllMocks());

it('reports a problem of an endpoint while a certificate for it is found, without a deadlock', async () => {
  const name = 'www.example.com';
  const account = await fixture.account(name);
  fixture.serve = () => fixture.leaf('other.example.net');
  const { core } = fixture.findings;
  const record = jest.spyOn(RecordFindings.prototype, 'record');
  const add = EndpointReports.prototype.add;
  let found: Promise<unknown> | undefined;
  const adding = jest.spyOn(EndpointReports.prototype, 'add').mockImplementation(async function (
    this: EndpointReports,
    ...args
  ) {
    if (found === undefined) {
      found = fixture.findings.find({ [account]: ['.example.com'] }, [issuanceFor([name])]);
      await eventually(async () => {
        const waiting = await core.query<object[]>(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        expect(waiting).toHaveLength(1);
      });
    }
    await add.apply(this, args);
  });
  await fixture.pass(6.6 * hourMs);
  await found;
  expect(await fixture.sent(account)).toEqual([`problem ${name}: wrong_name`]);
  // A transaction that was the victim of a deadlock runs again.
  expect([adding, record].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
});
