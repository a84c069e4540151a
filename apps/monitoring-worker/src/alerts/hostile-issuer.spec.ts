import { FindingsFixture, issuanceFor, SpecCa } from '../testing/findings-fixture';

let fixture: FindingsFixture;
beforeAll(async () => {
  fixture = await FindingsFixture.open();
});
afterAll(async () => await fixture.close());

it('alerts accounts although a certificate of one has an issuer with a NUL in its name', async () => {
  const [account, other] = [await fixture.account(), await fixture.account()];
  await fixture.find({ [account]: ['.example.com'] }, [new SpecCa('Evil\0CA').issue(['a.example.com'])]);
  await fixture.find({ [other]: ['.example.org'] }, [issuanceFor(['a.example.org'])]);
  expect(await fixture.alerts.send(await fixture.lease('alerts'))).toBe(2);
  expect(await fixture.deliveries(other)).toHaveLength(1);
  expect(await fixture.deliveries(account)).toHaveLength(1);
});
