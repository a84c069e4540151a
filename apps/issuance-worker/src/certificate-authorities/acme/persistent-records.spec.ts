import type { LookUp } from '@certwright/dns-lookup';
import { installedPebbles } from '../../acme/testing/pebble';
import { AcmeIssuing } from '../../testing/acme-issuing';
import { opensslCsr } from '../../testing/opened-issuance';
import { PersistentRecords, readGrant } from './persistent-records';

describe('a standing record', () => {
  const accountUri = 'https://ca.test/acct/1';

  it('names the issuer and the account', () => {
    expect(readGrant(`CA.test. ; accounturi=${accountUri}`)).toEqual({
      ...{ issuer: 'ca.test', accountUri, wildcard: false, until: null },
    });
    const more = readGrant(`ca.test; accounturi=${accountUri}; policy=wildcard; persistUntil=1798761600`);
    expect(more).toMatchObject({ wildcard: true, until: new Date('2027-01-01T00:00:00Z') });
  });

  it.each([
    'ca.test',
    `; accounturi=${accountUri}`,
    `ca.test; accounturi=${accountUri}; accounturi=${accountUri}`,
    `ca.test; accounturi=${accountUri}; persistUntil=soon`,
    `ca.test; accounturi = ${accountUri}`,
  ])('is ignored when malformed: %s', (text) => {
    expect(readGrant(text)).toBeNull();
  });
});

describe('the standing records of an order of many names with silent servers', () => {
  const end = new AbortController();
  beforeAll(() => void jest.spyOn(AbortSignal, 'timeout').mockReturnValue(end.signal));
  afterAll(() => jest.restoreAllMocks());

  it('are looked up for a limited time in all', async () => {
    const silent: LookUp = async (_, __, { signal } = {}) => {
      await new Promise((resolve) => {
        if (signal?.aborted === true) resolve(null);
        else signal?.addEventListener('abort', resolve, { once: true });
      });
      return { from: '127.0.0.1:53', kind: 'failure', reason: 'aborted' };
    };
    const dnsNames = Array.from({ length: 100 }, (_, index) => `n${index}.example.com`);
    const granted = new PersistentRecords(silent).granted(dnsNames, 'https://ca.test/acct/1', []);
    end.abort();
    expect(await granted).toEqual(new Set());
  });
});

const describeWithNewer = installedPebbles.includes('newer') ? describe : describe.skip;

describeWithNewer('the newer pebble', () => {
  let acme: AcmeIssuing;
  let accountUri: string;
  beforeAll(async () => {
    acme = await AcmeIssuing.open();
    await acme.pebble('pebble', {}, {}, 'newer');
    await acme.authoritiesAre('pebble');
    await acme.advance(await acme.order(['first.example.com'], opensslCsr(['first.example.com'])));
    const [row] = await acme.database.query<[{ account_url: string }]>(`SELECT account_url FROM ca_account`);
    accountUri = row.account_url;
  }, 60_000);
  afterAll(async () => await acme.close());

  const issue = async (dnsNames: readonly string[]) => {
    const opened = await acme.order(dnsNames, opensslCsr(dnsNames));
    const persistent = new PersistentRecords(acme.dns.client.lookUp);
    const state = await acme.advance(opened, acme.worker(acme.asWorker, { persistent }));
    const [order] = await acme.database.query<{ challenges: { dnsName: string; type: string }[] }[]>(
      `SELECT challenges FROM acme_order WHERE issuance_id = $1`,
      [opened.issuanceId],
    );
    return { state: state.state, error: state.last_error, types: order?.challenges.map(({ type }) => type) };
  };
  const grant = (name: string, parameters = '', account = accountUri) =>
    acme.publishText(
      `_validation-persist.${name}`,
      `pebble.letsencrypt.org; accounturi=${account}${parameters}`,
    );
  const persisted = { state: 'issued', error: null };

  it('issues with a standing record alone, also names approved by email, and repeatedly', async () => {
    acme.methods = () => 'email';
    grant('one.example.com');
    for (let time = 0; time < 2; time += 1) {
      expect(await issue(['one.example.com'])).toMatchObject(persisted);
    }
    acme.methods = () => 'dns';
  });

  it('issues wildcards if the record allows them', async () => {
    grant('two.example.com', '; policy=wildcard; persistUntil=4102444800');
    const dnsNames = ['two.example.com', '*.two.example.com'];
    expect(await issue(dnsNames)).toEqual({ ...persisted, types: ['dns-persist-01', 'dns-persist-01'] });
  });

  it.each([
    ['that is for another account', '', 'https://ca.test/acct/1'],
    ['whose time is over', '; persistUntil=1000000000', undefined],
  ])('is shown dns-01 in place of a record %s', async (_, parameters, account) => {
    const name = `${parameters === '' ? 'a' : 'b'}.three.example.com`;
    grant(name, parameters, account);
    expect(await issue([name])).toEqual({ ...persisted, types: ['dns-01'] });
  });

  it('checks CAA with the method that will be used', async () => {
    grant('four.example.com');
    const sent: string[] = [];
    const persistent = new PersistentRecords(acme.dns.client.lookUp);
    const preflight = async ({ names }: { names: readonly { challenge: string }[] }) => {
      sent.push(...names.map(({ challenge }) => challenge));
      return await Promise.resolve({ kind: 'ready', taken: [] } as const);
    };
    const dnsNames = ['four.example.com', 'five.example.com'];
    const opened = await acme.order(dnsNames, opensslCsr(dnsNames));
    await acme.worker(acme.asWorker, { persistent, preflight }).run(opened.issuanceId);
    expect(sent.sort()).toEqual(['dns-01', 'dns-persist-01']);
  });
});
