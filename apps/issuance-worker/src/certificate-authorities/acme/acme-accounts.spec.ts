import { CaAccounts } from '../ca-accounts';
import { CertificateAuthorities } from '../certificate-authorities';
import { installedPebbles } from '../../acme/testing/pebble';
import { AcmeIssuing } from '../../testing/acme-issuing';
import { CuttingProxy } from '../../testing/cutting-proxy';
import { FaultyDatabase } from '../../testing/faulty-database';
import { opensslCsr } from '../../testing/opened-issuance';
import { changeAccountKeys, keepContacts } from './keep-accounts';

const dnsNames = ['a.example.com'];
const csr = opensslCsr(dnsNames);

let acme: AcmeIssuing;
let proxy: CuttingProxy;
const keyFaults: unknown[] = [];
const contactFaults: string[] = [];
beforeAll(async () => {
  acme = await AcmeIssuing.open();
  const pebble = await acme.pebble('pebble');
  proxy = await CuttingProxy.start(pebble.directoryUrl, pebble.tlsRoot);
  await acme.database.query(`UPDATE certificate_authority SET directory_url = $1, tls_roots = $2`, [
    proxy.directoryUrl,
    proxy.tlsRoot,
  ]);
  await acme.authoritiesAre('pebble');
}, 30_000);
afterAll(async () => {
  await proxy.stop();
  await acme.close();
});

const describeWithPebble = installedPebbles.length > 0 ? describe : describe.skip;

const authority = async () => {
  const found = (await new CertificateAuthorities(acme.database).byName()).get('pebble');
  if (found === undefined) throw new Error('no row');
  return found;
};
const accountRows = async () =>
  await acme.database.query<
    {
      id: string;
      state: string;
      account_url: string | null;
      key_sealed: Buffer;
      next_key_sealed: Buffer | null;
    }[]
  >(`SELECT * FROM ca_account ORDER BY id`);

/** Number of accounts at the CA, by their URLs. */
const endAccounts = async () => await acme.database.query(`UPDATE ca_account SET state = 'ended'`);

function keeping(source = acme.asWorker) {
  const sessions = acme.accounts(source);
  return {
    accounts: new CaAccounts(source),
    authorities: new CertificateAuthorities(source),
    sessions,
    servers: acme.servers,
    events: {
      keyChanged: () => undefined,
      keyNotChanged: (_: string, error: unknown) => keyFaults.push(error),
      keyChangeRefused: (_: string, error: unknown) => keyFaults.push(error),
      contactsNotUpdated: (name: string) => contactFaults.push(name),
    },
  };
}

describeWithPebble('our account at a CA', () => {
  it('is the same for concurrent workers, and its key is sealed', async () => {
    const row = await authority();
    const sessions = await Promise.all([1, 2, 3, 4].map(async () => await acme.accounts().at(row)));
    expect(new Set(sessions.map(({ account }) => account.url)).size).toBe(1);
    const [stored, ...more] = await accountRows();
    expect(more).toEqual([]);
    expect(stored?.key_sealed.toString('latin1')).not.toMatch(/PRIVATE KEY/);
  });

  it.each(['before', 'after'] as const)(
    'is created once when the connection is cut %s the CA receives the request',
    async (when) => {
      await endAccounts();
      const row = await authority();
      const before = (await accountRows()).length;
      // Directory and nonce are cached: the next exchange is newAccount, which is retried at once.
      proxy.cut(1, when);
      const session = await acme.accounts().at(row);
      expect(proxy.struck).toBe(true);
      proxy.passAll();
      const made = (await accountRows()).slice(before);
      expect(made).toMatchObject([{ state: 'valid', account_url: session.account.url }]);
    },
  );

  it.each(['before', 'after'] as const)(
    'is created once when the database fails %s a statement',
    async (when) => {
      for (let nth = 1; ; nth += 1) {
        await endAccounts();
        const row = await authority();
        const before = (await accountRows()).length;
        const faulty = new FaultyDatabase(acme.asWorker, nth, when);
        await acme
          .accounts(faulty.source)
          .at(row)
          .catch(() => undefined);
        await acme.accounts().at(row);
        expect((await accountRows()).slice(before)).toMatchObject([{ state: 'valid' }]);
        if (!faulty.struck) break;
        expect(nth).toBeLessThan(10);
      }
    },
  );

  /** The CA does not know the account, nor its key. @returns its row's id */
  const forgotten = async () => {
    await acme.advance(await acme.order(dnsNames, csr));
    const [last] = (await accountRows()).slice(-1);
    const sessions = acme.accounts();
    await acme.database.query(
      `UPDATE ca_account SET account_url = account_url || '0', key_sealed = $2,
         created_at = now() - interval '2 hours' WHERE id = $1`,
      [last?.id, sessions.newSealedKey('pebble')],
    );
    return last?.id;
  };
  const stateOf = async (id: string | undefined) => (await accountRows()).find((row) => row.id === id)?.state;
  const denialsAge = async (id: string | undefined, minutes: number, lastMinutes: number) =>
    await acme.database.query(
      `UPDATE ca_account SET denied_since = now() - $2 * interval '1 min', denied_at = now() - $3 * interval '1 min'
       WHERE id = $1`,
      [id, minutes, lastMinutes],
    );
  const rests = { state: 'open', failures: 0, last_error: { code: 'ca_unavailable' } };

  it('is created again when the CA has denied it for a quarter of an hour, and the order continues later', async () => {
    const id = await forgotten();
    const opened = await acme.order(dnsNames, csr);
    expect(await acme.advance(opened)).toMatchObject(rests);
    expect(await stateOf(id)).toBe('valid');
    expect(acme.alarms).toEqual([]);
    // A new series of denials.
    await denialsAge(id, 60, 11);
    await acme.timePasses();
    expect(await acme.advance(opened)).toMatchObject(rests);
    expect(await stateOf(id)).toBe('valid');
    await denialsAge(id, 16, 1);
    await acme.timePasses();
    expect(await acme.advance(opened)).toMatchObject({ failures: 1, last_error: { code: 'ca_unavailable' } });
    expect(await stateOf(id)).toBe('ended');
    expect(acme.alarms).toContain('account lost at pebble');
    await acme.timePasses();
    expect(await acme.advance(opened)).toMatchObject({ state: 'issued' });
  });

  it('is kept when the CA knows it again, and the order continues', async () => {
    const [before] = await accountRows().then((rows) => rows.slice(-1));
    const id = await forgotten();
    const opened = await acme.order(dnsNames, csr);
    const worker = acme.worker();
    expect(await acme.advance(opened, worker)).toMatchObject(rests);
    await acme.database.query(`UPDATE ca_account SET account_url = $2, key_sealed = $3 WHERE id = $1`, [
      id,
      before?.account_url,
      before?.key_sealed,
    ]);
    await acme.timePasses();
    expect(await acme.advance(opened, worker)).toMatchObject({ state: 'issued', failures: 0 });
    const [row] = await acme.database.query<[object]>(
      `SELECT denied_since, denied_at FROM ca_account WHERE id = $1`,
      [id],
    );
    expect(row).toEqual({ denied_since: null, denied_at: null });
  });

  it('that was deactivated at the CA is replaced by another one', async () => {
    await acme.advance(await acme.order(dnsNames, csr));
    const [before] = (await accountRows()).slice(-1);
    await acme.database.query(`UPDATE ca_account SET created_at = now() - interval '2 hours'`);
    const { account, key } = await acme.accounts().at(await authority());
    await account['conversation'].post({
      operation: 'deactivate',
      signer: { key, accountUrl: account.url },
      to: { what: 'The account', url: account.url },
      payload: { status: 'deactivated' },
      isRepeatable: true,
    });
    acme.alarms.splice(0);
    const opened = await acme.order(dnsNames, csr);
    const refused = await acme.advance(opened);
    expect(refused).toMatchObject(rests);
    expect(refused.last_error?.message).toMatch(/does not accept this platform's account.*operator/);
    await denialsAge(before?.id, 16, 1);
    await acme.timePasses();
    await acme.advance(opened);
    expect(await stateOf(before?.id)).toBe('ended');
    expect(acme.alarms).toEqual(['account lost at pebble']);
    await acme.timePasses();
    expect(await acme.advance(opened)).toMatchObject({ state: 'issued' });
  });

  it('that the CA has moved to another URL is used at that URL', async () => {
    const [before] = await accountRows().then((rows) => rows.slice(-1));
    await acme.database.query(
      `UPDATE ca_account SET account_url = account_url || '0', created_at = now() - interval '2 hours' WHERE id = $1`,
      [before?.id],
    );
    const opened = await acme.order(dnsNames, csr);
    expect(await acme.advance(opened)).toMatchObject(rests);
    await acme.timePasses();
    expect(await acme.advance(opened)).toMatchObject({ state: 'issued', failures: 0 });
    const [after] = await accountRows().then((rows) => rows.slice(-1));
    expect(after).toMatchObject({ id: before?.id, state: 'valid', account_url: before?.account_url });
  });
});

describeWithPebble('the key of our account', () => {
  it('is changed on request, and orders continue with the new one', async () => {
    const [before] = (await accountRows()).slice(-1);
    await new CaAccounts(acme.database).requestRollover('pebble');
    await changeAccountKeys(keeping())();
    const [after] = (await accountRows()).slice(-1);
    expect(after?.key_sealed.equals(before?.key_sealed ?? Buffer.of())).toBe(false);
    expect(after).toMatchObject({ account_url: before?.account_url, next_key_sealed: null });
    expect(keyFaults).toEqual([]);
    expect(await acme.advance(await acme.order(dnsNames, csr))).toMatchObject({
      state: 'issued',
      failures: 0,
    });
  });

  it.each(['before', 'after'] as const)(
    'is changed once when any exchange is cut %s the CA receives it',
    async (when) => {
      for (let nth = 1; ; nth += 1) {
        await new CaAccounts(acme.database).requestRollover('pebble');
        proxy.cut(nth, when);
        await changeAccountKeys(keeping())();
        const { struck } = proxy;
        proxy.passAll();
        await acme.database.query(
          `UPDATE ca_account SET rollover_due_at = now() WHERE next_key_sealed IS NOT NULL`,
        );
        await changeAccountKeys(keeping())();
        expect((await accountRows()).slice(-1)).toMatchObject([{ next_key_sealed: null }]);
        const opened = await acme.order(dnsNames, csr);
        expect({ nth, state: (await acme.advance(opened)).state }).toEqual({ nth, state: 'issued' });
        if (!struck) break;
        expect(nth).toBeLessThan(12);
      }
    },
    60_000,
  );

  it('during a change, an order that is refused because of it waits without a failure', async () => {
    const opened = await acme.order(dnsNames, csr);
    const sessions = acme.accounts();
    const { account, row, key } = await sessions.at(await authority());
    const nextSealed = await new CaAccounts(acme.asWorker).beginRollover(
      row.id,
      sessions.newSealedKey('pebble'),
    );
    await account.changeKey(sessions.openKey('pebble', nextSealed));
    await acme.worker().run(opened.issuanceId);
    expect(await acme.state(opened.issuanceId)).toMatchObject({
      state: 'open',
      failures: 0,
      last_error: null,
    });
    expect(key).toBeDefined();
    await acme.database.query(
      `UPDATE ca_account SET rollover_due_at = now() WHERE next_key_sealed IS NOT NULL`,
    );
    await changeAccountKeys(keeping())();
    await acme.timePasses();
    expect(await acme.advance(opened)).toMatchObject({ state: 'issued', failures: 0 });
  });
});

describeWithPebble('the contacts of our account', () => {
  it('follow the operator’s changes, with one update at the CA', async () => {
    await acme.database.query(`UPDATE certificate_authority SET contacts = '{mailto:pki@example.com}'`);
    const round = keepContacts(keeping());
    await round();
    const { account } = await acme.accounts().at(await authority());
    expect((await account.read()).contacts).toEqual(['mailto:pki@example.com']);
    const sent = proxy.exchanges.length;
    await round();
    expect(proxy.exchanges.length).toBe(sent);
  });

  it('delays no CA because of one that is unavailable, and retries that one in the next round', async () => {
    await acme.authority({
      name: 'unavailable',
      directoryUrl: 'https://localhost:1/',
      tlsRoots: null,
      trustedRoots: [],
    });
    const sealed = acme.accounts().newSealedKey('unavailable');
    await acme.database.query(
      `INSERT INTO ca_account (authority, state, account_url, key_sealed) VALUES ('unavailable', 'valid', 'https://localhost:1/a', $1)`,
      [sealed],
    );
    await acme.database.query(`UPDATE certificate_authority SET contacts = '{mailto:ca@example.com}'`);
    expect(await keepContacts(keeping())()).toBeGreaterThanOrEqual(60_000);
    expect(contactFaults).toEqual(['unavailable']);
    const { account } = await acme.accounts().at(await authority());
    expect((await account.read()).contacts).toEqual(['mailto:ca@example.com']);
  });
});
