import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { temporaryCertificate } from '@certwright/pki';
import { pubkeyHash } from '../testing/certificate-request';
import { attachCertificate, attachImported, openIssuance } from '../testing/forged-instances';
import { RunningApi, type Tenant } from '../testing/running-api';
import { activatePending, createObject, csrFor, keys, otherKeys, pathOf } from './testing/bought';
import { forgedRoot } from './testing/forged-authority';

jest.setTimeout(60_000);

let api: RunningApi;
let tenant: Tenant;
beforeAll(async () => {
  api = await RunningApi.start();
  await api.database.query(`UPDATE product SET available = true WHERE name = 'paid_ev_ca'`);
});
beforeEach(async () => {
  tenant = await api.tenant();
});
afterAll(() => api.stop());

const cn = 'www.example.com';
const instance = async (id: number | string, query = '') =>
  (await tenant.get(`${pathOf(cn)}/instances/${id}${query}`)).json;
const buy = async () => (await tenant.post(`${pathOf(cn)}/buy`)).json;
const dayMs = 86_400_000;

describe('an instance', () => {
  it('shows the requested SANs, and how each is approved', async () => {
    const sans = [
      { type: 'dns', value: 'a.example.com', approval_method: 'dns' },
      { type: 'dns', value: 'b.example.com', approval_method: 'http' },
      { type: 'dns', value: 'c.example.com', approval_method: 'email', approver_email: 'admin@example.com' },
    ];
    const object = await createObject(tenant, cn, {
      sans,
      approval_method: 'email',
      approver_email: 'webmaster@example.com',
    });
    const bought = await buy();
    expect(bought).toMatchObject({
      approval_method: 'email',
      approver_email: 'webmaster@example.com',
      approval_email_from: 'Certwright <certwright@localhost>',
    });
    // As the object shows them.
    expect(bought.sans).toEqual(object.sans);
    expect(bought.sans[0].dns_approval.options).toHaveLength(2);
    expect(
      bought.approval.map(({ name, method }: { name: string; method: string }) => [name, method]),
    ).toEqual([
      [cn, 'email'],
      ['a.example.com', 'dns'],
      ['b.example.com', 'http'],
      ['c.example.com', 'email'],
    ]);
    await createObject(tenant, cn, { sans: null, approval_method: 'dns' });
    expect((await instance(bought.id)).sans).toEqual(object.sans);
  });

  it('without SANs shows an empty list', async () => {
    await createObject(tenant, cn, { sans: [] });
    expect((await buy()).sans).toEqual([]);
  });

  it('shows which names are approved, what blocks the others, and the last error', async () => {
    await createObject(tenant, cn);
    const { issuanceId, instanceId } = await openIssuance(api, tenant, cn, { approved: [cn] });
    const problem = 'There is no record.';
    await api.database.query(
      `UPDATE issuance SET approvals = jsonb_set(approvals, '{1,problem}', to_jsonb($2::text)), failures = 1,
         last_error = '{"code": "ca_unavailable", "message": "The CA did not respond."}' WHERE id = $1`,
      [issuanceId, problem],
    );
    expect(await instance(instanceId)).toMatchObject({
      state: 'pending',
      approval: [
        { name: cn, method: 'dns', status: 'approved', problem: null },
        { name: 'example.com', method: 'dns', status: 'pending', problem },
      ],
      last_error: { code: 'ca_unavailable', message: 'The CA did not respond.' },
    });
  });

  it('has the type ev when its product is the one of that type', async () => {
    await createObject(tenant, cn, { type: 'ev' });
    const { id, type } = await buy();
    await createObject(tenant, cn, { type: 'dv' });
    expect([type, (await instance(id)).type]).toEqual(['ev', 'ev']);
  });

  it('that is issued shows its certificate, chain and root, in PEM with a newline at the end', async () => {
    const root = forgedRoot('Root');
    const intermediate = root.subordinate('CA');
    const { der, pem } = intermediate.issue({ dnsNames: [cn, 'example.com'] });
    await createObject(tenant, cn);
    const { instanceId } = await attachCertificate(api, tenant, cn, {
      leaf: der,
      chain: [intermediate.der],
      root: root.der,
      notBefore: new Date(Date.now() - 80 * dayMs),
      notAfter: new Date(Date.now() + 20 * dayMs),
    });
    const shown = await instance(
      instanceId,
      '?expand=crt&expand=chain&expand=root&expand=csr&expand=nonsense&expand=',
    );
    expect(shown).toMatchObject({
      state: 'active',
      expiring: true,
      source: 'service',
      crt: pem,
      chain: [intermediate.pem],
      root: root.pem,
      sha1_fingerprint: createHash('sha1').update(der).digest('hex'),
      sha256_fingerprint: createHash('sha256').update(der).digest('hex'),
    });
    expect(shown.csr.endsWith('-----END CERTIFICATE REQUEST-----\n')).toBe(true);
    const bare = await instance(instanceId);
    for (const member of ['crt', 'chain', 'root', 'csr']) expect(bare).not.toHaveProperty(member);
    expect(Object.keys(await instance(instanceId, '?expand=chain'))).toEqual([...Object.keys(bare), 'chain']);
  });

  it.each([
    ['expired', { notBefore: new Date(Date.now() - 9 * dayMs), notAfter: new Date(Date.now() - dayMs) }],
    ['revoked', { revokedAt: new Date() }],
    ['active', {}],
  ])('is %s as its certificate is', async (state, certificate) => {
    await createObject(tenant, cn);
    const { instanceId } = await attachCertificate(api, tenant, cn, certificate);
    expect(await instance(instanceId)).toMatchObject({ state, expiring: false });
  });

  it.each(['superseded', 'canceled', 'failed'] as const)(
    'whose issuance was %s is canceled, and has no certificate',
    async (state) => {
      await createObject(tenant, cn);
      const { instanceId } = await openIssuance(api, tenant, cn, { state });
      const shown = await instance(instanceId, '?expand=crt&expand=chain&expand=root');
      expect(shown).toMatchObject({ state: 'canceled', expiration: null, sha256_fingerprint: null });
      for (const member of ['crt', 'chain', 'root']) expect(shown).not.toHaveProperty(member);
    },
  );
});

describe('a pending instance', () => {
  it('has a temporary certificate for the key of its CSR and its names, the same at every read', async () => {
    await createObject(tenant, cn, { csr: csrFor(cn, otherKeys) });
    const { id } = await buy();
    const shown = await instance(id, '?expand=crt&expand=chain&expand=root');
    expect(await instance(id, '?expand=crt&expand=chain&expand=root')).toEqual(shown);
    expect([shown.state, shown.chain, shown.root]).toEqual(['pending', [], shown.crt]);
    const openssl = (...args: readonly string[]) =>
      execFileSync('openssl', ['x509', '-noout', ...args], { input: shown.crt, encoding: 'utf8' });
    expect(openssl('-pubkey')).toBe(otherKeys.publicKey.export({ type: 'spki', format: 'pem' }));
    expect(openssl('-ext', 'subjectAltName')).toContain('DNS:www.example.com, DNS:example.com');
    // The installation test compares with the same certificate.
    const [row] = await api.database.query<{ opened_at: Date }>(
      `SELECT opened_at FROM issuance WHERE public_id = $1`,
      [id],
    );
    const expected = temporaryCertificate({
      spkiDer: otherKeys.publicKey.export({ type: 'spki', format: 'der' }),
      dnsNames: [cn, 'example.com'],
      validFrom: row?.opened_at ?? new Date(0),
    });
    const der = Buffer.from(shown.crt.replace(/-----[^-]+-----/g, ''), 'base64');
    expect(der.equals(expected)).toBe(true);
    // By these, existing clients recognize that the temporary certificate is installed.
    const fingerprints = {
      sha1_fingerprint: createHash('sha1').update(der).digest('hex'),
      sha256_fingerprint: createHash('sha256').update(der).digest('hex'),
    };
    expect(await instance(id)).toMatchObject(fingerprints);
    expect((await tenant.get('/api/v2/certs?expand=current&expand=pending')).json.data).toMatchObject([
      { pending: fingerprints },
    ]);
    const object = (
      await tenant.get(`${pathOf(cn)}?expand=pending.crt&expand=pending.chain&expand=pending.root`)
    ).json;
    expect(object.pending).toEqual(shown);
  });
});

describe('an instance is addressed', () => {
  it('by its key: the newest active one of several, else the newest of any state', async () => {
    await createObject(tenant, cn);
    const byKey = async (hash = pubkeyHash(keys)) => {
      const { status, json } = await tenant.get(`${pathOf(cn)}/instances/pubkey_hash:${hash}`);
      return status === 200 ? [json.id, json.state] : [status, json.reason];
    };
    expect(await byKey()).toEqual([404, 'no_such_pubkey_hash']);
    const first = await buy();
    expect(await byKey()).toEqual([first.id, 'pending']);
    await activatePending(api, tenant, cn);
    const second = (await tenant.post(`${pathOf(cn)}/reissue`)).json;
    expect(await byKey()).toEqual([first.id, 'active']);
    await activatePending(api, tenant, cn);
    await tenant.post(`${pathOf(cn)}/reissue`);
    expect(await byKey(pubkeyHash(keys).toUpperCase())).toEqual([second.id, 'active']);
    await tenant.postForm(`${pathOf(cn)}/revoke`, { all: '1' });
    expect((await byKey())[1]).toBe('canceled');
    expect(await byKey(pubkeyHash(otherKeys))).toEqual([404, 'no_such_pubkey_hash']);
    const { instanceId } = await attachImported(api, tenant, cn, { isCurrent: false });
    expect(await byKey()).toEqual([instanceId, 'active']);
    await createObject(tenant, 'example.net');
    const other = await tenant.get(`${pathOf('example.net')}/instances/pubkey_hash:${pubkeyHash(keys)}`);
    expect(other.json.reason).toBe('no_such_pubkey_hash');
  });

  it('by its key among the newest 1,000 issuances, or for ever once it has a certificate', async () => {
    await createObject(tenant, cn);
    const { instanceId: issued } = await attachCertificate(api, tenant, cn);
    const statusOf = async (hash: string) =>
      (await tenant.get(`${pathOf(cn)}/instances/pubkey_hash:${hash}`)).json;
    await createObject(tenant, cn, { csr: csrFor(cn, otherKeys) });
    const { instanceId: canceled } = await openIssuance(api, tenant, cn, { state: 'canceled' });
    const newer = async (count: number) =>
      await api.database.query(
        `INSERT INTO issuance (plan_id, account_id, terms_id, revision, state, approvals, due_at, closed_at)
         SELECT plan_id, account_id, terms_id, revision + 1, 'canceled', '[]', 'infinity', now()
         FROM issuance, generate_series(1, $2) WHERE public_id = $1`,
        [issued, count],
      );
    await newer(999);
    expect(await statusOf(pubkeyHash(otherKeys))).toMatchObject({ id: canceled, state: 'canceled' });
    await newer(1);
    expect(await statusOf(pubkeyHash(otherKeys))).toMatchObject({ reason: 'no_such_pubkey_hash' });
    expect(await statusOf(pubkeyHash(keys))).toMatchObject({ id: issued, state: 'active' });
    expect(await instance(canceled)).toMatchObject({ id: canceled, state: 'canceled' });
  });

  it('by nothing that it is not called', async () => {
    await createObject(tenant, cn);
    const { id } = await buy();
    const ids = [
      '0',
      '-1',
      '1e3',
      `0${id}`,
      `${id} `,
      '9007199254740993',
      'x'.repeat(300),
      '__proto__',
      'constructor',
      '%F0%9F%98%80',
    ];
    for (const text of ids) {
      const { status, json } = await tenant.get(
        `${pathOf(cn)}/instances/${text.startsWith('%') ? text : encodeURIComponent(text)}`,
      );
      expect([text, status, json.reason]).toEqual([text, 404, 'no_such_instance']);
    }
    for (const text of ['', '00', 'g'.repeat(64), `${pubkeyHash(keys)}0`]) {
      const { status, json } = await tenant.get(`${pathOf(cn)}/instances/pubkey_hash:${text}`);
      expect([status, json.reason]).toEqual([404, 'no_such_pubkey_hash']);
    }
  });

  it('by its own common name and account only, and a poll of another’s never waits', async () => {
    await createObject(tenant, cn);
    await createObject(tenant, 'example.net');
    const { id } = await buy();
    const { instanceId: imported } = await attachImported(api, tenant, cn);
    const stranger = await api.tenant();
    const begun = performance.now();
    const expectNone = async (who: Tenant, name: string, reason: string) => {
      for (const each of [String(id), String(imported), `pubkey_hash:${pubkeyHash(keys)}`]) {
        const { status, json } = await who.get(`${pathOf(name)}/instances/${each}?poll=180`);
        expect([status, json.reason.replace('pubkey_hash', 'instance')]).toEqual([404, reason]);
      }
    };
    await expectNone(tenant, 'example.net', 'no_such_instance');
    await expectNone(stranger, cn, 'no_such_cert');
    await createObject(stranger, cn);
    await expectNone(stranger, cn, 'no_such_instance');
    expect(performance.now() - begun).toBeLessThan(60_000);
    expect((await stranger.get(`${pathOf(cn)}/instances`)).json).toEqual({ data: [] });
  });
});

describe('GET /certs/{CN}/instances', () => {
  it('lists all of an object, newest first, page by page', async () => {
    await createObject(tenant, cn);
    const ids: number[] = [];
    for (let made = 0; made < 3; made += 1) {
      ids.unshift((await attachCertificate(api, tenant, cn)).instanceId);
      ids.unshift((await attachImported(api, tenant, cn)).instanceId);
    }
    const list = async (url: string) => {
      const { headers, json } = await tenant.get(url);
      return { ids: json.data.map(({ id }: { id: number }) => id), link: String(headers['link'] ?? '') };
    };
    expect(await list(`${pathOf(cn)}/instances`)).toEqual({ ids, link: '' });
    const seen: number[] = [];
    let url: string | undefined = `${pathOf(cn)}/instances?limit=2&expand=crt`;
    while (url !== undefined) {
      const page = await list(url);
      seen.push(...page.ids);
      url = /<[^>]*(\/api[^>]*)>; rel="next"/.exec(page.link)?.[1];
      if (url !== undefined) expect(url).toMatch(/after=\d+&limit=2&expand=crt$/);
    }
    expect(seen).toEqual(ids);
    for (const query of ['limit=0', 'limit=101', 'limit=x', 'after=x', 'after=-1', 'limit=1&limit=2']) {
      const { status, json } = await tenant.get(`${pathOf(cn)}/instances?${query}`);
      expect([status, json.reason, json.param]).toEqual([400, 'bad_param', query.split('=')[0]]);
    }
  });

  it('needs an object', async () => {
    expect((await tenant.get(`${pathOf(cn)}/instances`)).json.reason).toBe('no_such_cert');
  });
});

describe('the instances of objects', () => {
  it('are read in a constant number of statements, with big columns only on request', async () => {
    const prepare = async (count: number) => {
      tenant = await api.tenant();
      for (let made = 0; made < count; made += 1) {
        const name = `${made}.example.com`;
        await createObject(tenant, name, {
          csr: csrFor(name),
          sans: [{ type: 'dns', value: `san-${made}.example.com`, approval_method: 'dns' }],
        });
        await attachCertificate(api, tenant, name);
        await openIssuance(api, tenant, name);
      }
    };
    const counted = async (query: string) => {
      let json: { data: { current: object; pending: object }[] } = { data: [] };
      const statements = await api.statementsOf(async () => {
        json = (await tenant.get(`/api/v2/certs${query}`)).json;
      });
      return { statements, data: json.data };
    };
    await prepare(1);
    const one = await counted('?expand=current&expand=pending');
    await prepare(12);
    const many = await counted('?expand=current&expand=pending');
    expect(many.data).toHaveLength(12);
    for (const { current, pending } of many.data) {
      expect([current, pending]).toMatchObject([{ state: 'active' }, { state: 'pending' }]);
    }
    expect(many.statements.length).toBeLessThanOrEqual(one.statements.length);
    const instanceStatements = (statements: readonly string[]) =>
      statements.filter((text) => text.includes('"attemptState"')).join('\n');
    expect(instanceStatements(many.statements)).not.toMatch(/certificate_chain/);
    // Only of pending instances, for the fingerprints of their temporary certificates.
    expect(instanceStatements(many.statements).match(/terms\.csr/g)).toHaveLength(2);
    expect(instanceStatements(many.statements).match(/state = 'open' THEN terms\.csr END/g)).toHaveLength(2);
    const certified = await counted('?expand=current.crt&expand=pending.crt');
    expect(instanceStatements(certified.statements)).not.toMatch(/certificate_chain/);
    const only = await counted('?expand=current.chain');
    expect(instanceStatements(only.statements)).toMatch(/certificate_chain/);
    expect(instanceStatements(only.statements)).not.toMatch(/state = 'open'$/);
  });
});
