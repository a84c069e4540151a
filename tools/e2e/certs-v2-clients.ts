import { execFileSync } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { eventually, startChild } from '@certwright/testing';
import { missingPrograms } from './installed';
import { firehose, issuanceInSearch, type SearchedPlatform } from './transparency-search';
import { byCurl, byLwp, type ClientResponse, inPath, type Transport, V2Client } from './v2-client';
import { workspaceRoot } from './platform';

/** One certificate takes seconds; a machine that runs other specs at the same time takes more. */
const issuedWithinS = 90;

/** What start.json contains, as far as these clients need it. */
export interface Started extends SearchedPlatform {
  readonly account_id: string;
  readonly dns_control: string;
  readonly mailbox: string;
  readonly sandbox_root: string;
  readonly database_url: string;
  readonly ct_database_url: string;
  readonly redis_url: string;
}

/** A platform that `npm start` started. */
export interface StartedPlatform {
  readonly started: Started;
  /** For files of the clients. */
  readonly folder: string;
}

let platform: StartedPlatform;
/** What the customer's web server redirects the rule's paths to. */
let rule = '';
let password = '';
const user = 'user@example.com';

const lwpIsHere = missingPrograms(['perl']).length === 0 && hasLwp();
function hasLwp(): boolean {
  try {
    execFileSync('perl', ['-MLWP::UserAgent', '-e', '1'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const publish = async (name: string, type: string, value: string) => {
  const body = JSON.stringify({ name, type, value });
  const headers = { 'content-type': 'application/json' };
  const { status } = await fetch(`${platform.started.dns_control}/records`, {
    method: 'POST',
    headers,
    body,
  });
  expect(status).toBeLessThan(300);
};

interface Key {
  readonly file: string;
  csrFor(dn: Readonly<Record<string, string>>): string;
}

/** As a client creates it: a key in a file, and a CSR with the distinguished name that the API requires. */
function newKey(name: string): Key {
  const file = path.join(platform.folder, `${name.replace('*', '_')}.key`);
  execFileSync('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', file]);
  const csrFor = (dn: Readonly<Record<string, string>>) => {
    const config = `${file}.cnf`;
    const members = ['C', 'ST', 'L', 'O', 'OU', 'CN'].flatMap((each) =>
      dn[each] === undefined ? [] : [`${each} = ${dn[each]}`],
    );
    writeFileSync(config, `[ req ]\ndistinguished_name = dn\nprompt = no\n[ dn ]\n${members.join('\n')}\n`);
    return execFileSync('openssl', ['req', '-new', '-key', file, '-config', config], { encoding: 'utf8' });
  };
  return { file, csrFor };
}

const fetched = (response: ClientResponse) => {
  expect([response.status, response.contentType, response.json?.message]).toEqual([
    200,
    'application/json',
    undefined,
  ]);
  return response.json;
};

/** The files that a client writes, checked by OpenSSL. @returns names of the leaf */
function install(name: string, instance: { crt: string; chain: string[] }, key: Key): string {
  const leaf = path.join(platform.folder, `${name.replace('*', '_')}.crt`);
  const chain = `${leaf}.chain`;
  writeFileSync(leaf, instance.crt);
  writeFileSync(chain, instance.chain.join(''));
  const root = platform.started.sandbox_root;
  execFileSync('openssl', ['verify', '-CAfile', root, '-untrusted', chain, leaf]);
  const ofKey = execFileSync('openssl', ['pkey', '-in', key.file, '-pubout'], { encoding: 'utf8' });
  const ofLeaf = execFileSync('openssl', ['x509', '-in', leaf, '-noout', '-pubkey'], { encoding: 'utf8' });
  expect(ofLeaf).toBe(ofKey);
  return execFileSync('openssl', ['x509', '-in', leaf, '-noout', '-ext', 'subjectAltName'], {
    encoding: 'utf8',
  });
}

const cases: [string, Transport][] = [
  ['curl', byCurl],
  ...(lwpIsHere ? [['LWP', byLwp] as [string, Transport]] : []),
];

/** The customer's web server, on the port that PROBE_HTTP_PORT of the platform says. */
export async function startWebServer() {
  const server = createServer((request, response) => {
    const at = request.url ?? '/';
    if (rule === '' || !at.startsWith('/.well-known/')) return void response.writeHead(404).end();
    response.writeHead(302, { location: rule + at }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}

/** @param running called in the hooks of these tests, when the platform is ready and its web server runs */
export function describeCertificateClients(running: () => StartedPlatform): void {
  beforeAll(async () => {
    platform = running();
    const { account_id } = platform.started;
    const created = await admin('user', 'create', '--account', account_id, '--email', user);
    password = created.split('\t')[1] ?? '';
  });

  describe.each(cases)('a command-line client, by %s', (transportName, transport) => {
    const cn = `shop-${transportName.toLowerCase()}.example.com`;
    const inCn = `/certs/${inPath(cn)}`;
    let client: V2Client;
    let key: Key;

    beforeAll(() => {
      client = new V2Client(
        `${platform.started.apis['certs_v2']}/api/v2`,
        transport,
        platform.started.api_key,
      );
    });

    const setUp = async (name: string, details: object): Promise<Key> => {
      const at = `/certs/${inPath(name)}`;
      const { dn } = fetched(await client.get(at, { expand: ['current', 'pending', 'csr'] }));
      const made = newKey(name);
      const body = { auto_renew: true, type: 'dv', sans: null, ...details, csr: made.csrFor(dn) };
      fetched(await client.postJson(at, body, { expand: ['dns_approval.status', 'http_approval.status'] }));
      return made;
    };

    const bought = async (name: string) => {
      const at = `/certs/${inPath(name)}`;
      const instance = fetched(await client.post(`${at}/buy`, { invoice_note: 'for the shop' }));
      expect(instance).toMatchObject({ state: 'pending', source: 'service', type: 'dv', invoice_id: null });
      return instance;
    };

    const active = async (name: string, id: number) => {
      const instance = fetched(await client.waitFor(name, id, issuedWithinS));
      expect(instance.state).toBe('active');
      return instance;
    };

    it('links a machine with user name and password', async () => {
      const { api_key } = fetched(await client.getAs(user, password, '/api_credentials'));
      const linked = new V2Client(`${platform.started.apis['certs_v2']}/api/v2`, transport, api_key);
      expect(fetched(await linked.get('/certs'))).toEqual({ data: expect.any(Array) });
      expect((await client.getAs(user, 'wrong', '/api_credentials')).json.reason).toBe('bad_credentials');
    });

    it('shows prices and approval methods', async () => {
      expect(fetched(await client.get('/pricing', { cn, custom_sans: 'false' }))).toMatchObject({
        dns_names: [cn, `www.${cn}`],
        duration: 1,
        duration_unit: 'year',
        currency: 'USD',
        price: 0,
      });
      expect(fetched(await client.get('/products/dv/approval', { cn }))).toMatchObject({
        email: { available: true, addresses: expect.arrayContaining([`admin@${cn}`, 'admin@example.com']) },
        dns: { available: true, integrated: false },
        http: { available: true },
      });
    });

    it('buys by DNS: with default SANs one record approves both names', async () => {
      key = await setUp(cn, { approval_method: 'dns', approver_email: null });
      const object = fetched(await client.get(inCn, { expand: 'dns_approval.status' }));
      const [option] = object.dns_approval.options;
      expect(option.name).toBe(`_acme-challenge.${cn}.`);
      const instance = await bought(cn);
      const temporary = fetched(
        await client.get(`${inCn}/instances/${instance.id}`, { expand: ['crt', 'chain'] }),
      );
      expect([temporary.state, temporary.chain]).toEqual(['pending', []]);
      const again = await client.post(`${inCn}/buy`, {});
      expect([again.status, again.json.reason]).toEqual([409, 'already_pending']);
      await publish(option.name, option.type, option.value);
      const issued = await active(cn, instance.id);
      const names = install(cn, issued, key);
      expect(names).toContain(`DNS:${cn}`);
      expect(names).toContain(`DNS:www.${cn}`);
      execFileSync('openssl', [
        'pkcs12',
        '-export',
        '-passout',
        'pass:x',
        '-inkey',
        key.file,
        '-in',
        path.join(platform.folder, `${cn}.crt`),
        '-out',
        `${key.file}.p12`,
      ]);
    });

    it('lists, shows and downloads it', async () => {
      const { data } = fetched(await client.get('/certs', { expand: ['current', 'pending'] }));
      const listed = data.find((each: { cn: string }) => each.cn === cn);
      expect(listed).toMatchObject({ exists: true, current: { state: 'active' } });
      const shown = fetched(
        await client.get(inCn, {
          expand: ['current.crt', 'current.chain', 'pending.crt'],
          _command: 'download',
        }),
      );
      const leaf = readFileSync(path.join(platform.folder, `${cn}.crt`), 'utf8');
      expect(shown.current.crt).toBe(leaf);
      const byKey = fetched(
        await client.get(`${inCn}/instances/pubkey_hash:${shown.pubkey_hash}`, { expand: 'crt' }),
      );
      expect(byKey.id).toBe(shown.current.id);
      const download = await (await fetch(shown.current_download)).text();
      expect(download).toBe(leaf + shown.current.chain.join(''));
      expect((await client.get(`${inCn}/instances/pubkey_hash:${'0'.repeat(64)}`)).json.reason).toBe(
        'no_such_pubkey_hash',
      );
    });

    it('is in the transparency search and in the firehose seconds later', async () => {
      const { current } = fetched(await client.get(inCn, { expand: ['current.crt'] }));
      const sha256 = createHash('sha256').update(new X509Certificate(current.crt).raw).digest('hex');
      const query = { domain: `www.${cn}`, expand: ['dns_names', 'issuer', 'pubkey'] };
      const found = await issuanceInSearch(platform.started, query, sha256);
      expect(found).toMatchObject({
        cert_sha256: sha256,
        dns_names: expect.arrayContaining([cn, `www.${cn}`]),
        pubkey: { type: 'ecdsa', curve: 'P-256' },
      });
      const { data, after } = await firehose(platform.started);
      expect(data.map(({ id }) => id)).toContain(found.id);
      expect(after).toBe('300');
      const pem = await fetch(`${platform.started.apis['ct_search']}/v1/issuances/${found.id}.pem`);
      expect((await pem.text()).trim()).toBe(current.crt.trim());
    });

    it('adds a name and reissues, then rekeys; the end stays the same', async () => {
      const before = fetched(await client.get(inCn, { expand: 'current' }));
      const extra = `api-${transportName.toLowerCase()}.example.org`;
      const sans = [{ type: 'dns', value: extra, approval_method: 'dns', approver_email: null }];
      const edited = fetched(
        await client.postJson(
          inCn,
          { approval_method: 'dns', approver_email: null, sans },
          { expand: ['pending', 'dns_approval.status'] },
        ),
      );
      const [{ name, type, value }] = edited.sans[0].dns_approval.options;
      await publish(name, type, value);
      const reissued = fetched(await client.post(`${inCn}/reissue`));
      expect(install(cn, await active(cn, reissued.id), key)).toContain(`DNS:${extra}`);

      key = newKey(cn);
      fetched(await client.post(inCn, { csr: key.csrFor(before.dn) }));
      const rekeyed = fetched(await client.post(`${inCn}/reissue`));
      const issued = await active(cn, rekeyed.id);
      install(cn, issued, key);
      expect(issued.expiration).toBe(before.current.expiration);
    });

    it('revokes all but the newest, then renews by buying again', async () => {
      expect(fetched(await client.post(`${inCn}/revoke`, { all: '0' }))).toMatchObject({
        num_revoked: 2,
        num_active: 1,
        num_imported: 0,
      });
      const renewed = await active(cn, (await bought(cn)).id);
      install(cn, renewed, key);
      await eventually(
        async () =>
          expect(fetched(await client.post(`${inCn}/revoke`, { all: '1' }))).toMatchObject({
            status: 'revoked',
            num_active: 0,
          }),
        { withinMs: 60_000 },
      );
      expect((await client.post(`${inCn}/reissue`)).json.reason).toBe('inactive_cert');
    });

    it('buys a wildcard', async () => {
      const name = `*.wild-${transportName.toLowerCase()}.example.net`;
      const made = await setUp(name, { approval_method: 'dns', approver_email: null });
      const [option] = fetched(await client.get(`/certs/${inPath(name)}`)).dns_approval.options;
      const { id } = await bought(name);
      await publish(option.name, option.type, option.value);
      expect(install(name, await active(name, id), made)).toContain(`DNS:${name}`);
    });

    it('buys by email: the button in the mail approves; edit and redo change the approver', async () => {
      const name = `mail-${transportName.toLowerCase()}.example.com`;
      const at = `/certs/${inPath(name)}`;
      const made = await setUp(name, { approval_method: 'email', approver_email: `admin@${name}`, sans: [] });
      const instance = await bought(name);
      expect(instance).toMatchObject({
        approver_email: `admin@${name}`,
        approval_email_from: expect.any(String),
      });
      fetched(
        await client.postJson(at, { approval_method: 'email', approver_email: 'webmaster@example.com' }),
      );
      const redone = fetched(await client.post(`${at}/redo_approval`, {}));
      expect(redone).toMatchObject({ id: instance.id, approver_email: 'webmaster@example.com' });
      await approveByMail('webmaster@example.com', name);
      install(name, await active(name, instance.id), made);
    });

    it('buys by the rule of a web server', async () => {
      const name = `web-${transportName.toLowerCase()}.example.com`;
      const at = `/certs/${inPath(name)}`;
      rule = '';
      await publish(name, 'A', '127.0.0.1');
      const made = await setUp(name, { approval_method: 'http', approver_email: null, sans: [] });
      const expand = 'http_approval.status';
      const before = fetched(await client.get(at, { expand })).http_approval;
      expect(before.status.ready).toBe(false);
      rule = before.redirect_to;
      await eventually(
        async () => expect(fetched(await client.get(at, { expand })).http_approval.status.ready).toBe(true),
        { withinMs: 30_000 },
      );
      const { id } = await bought(name);
      install(name, await active(name, id), made);
    });

    it('tests the certificate of a server', async () => {
      const name = `web-${transportName.toLowerCase()}.example.com`;
      const at = `/certs/${inPath(name)}`;
      const { current } = fetched(await client.get(at, { expand: ['current.crt', 'current.chain'] }));
      const keyPem = readFileSync(path.join(platform.folder, `${name}.key`), 'utf8');
      const served = async (cert: string) => {
        const server = createTlsServer({ key: keyPem, cert }).on('tlsClientError', () => undefined);
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
        const port = String((server.address() as AddressInfo).port);
        const { result } = fetched(await client.get(`${at}/test`, { port, hostname: [name] }));
        server.close();
        return result;
      };
      const found = {
        hostname: name,
        ip_address: '127.0.0.1',
        status: 'conclusive',
        correct: true,
        dummy: false,
      };
      expect(await served(current.crt + current.chain.join(''))).toEqual([{ ...found, chained: true }]);
      expect(await served(current.crt)).toEqual([{ ...found, chained: false }]);
    });

    it('creates a configuration without credentials', async () => {
      const { data } = fetched(await client.getAnonymously('/config_templates'));
      expect(data.map(({ name }: { name: string }) => name)).toEqual(
        expect.arrayContaining(['nginx', 'apache']),
      );
      const { template } = fetched(
        await client.getAnonymously('/config_templates/nginx', {
          expand: 'template',
          include_security_settings: '1',
        }),
      );
      expect(template).toContain('__CHAINED_PATH__');
      expect((await client.getAnonymously('/config_templates/none')).json.reason).toBe('template_not_found');
      // No operator names a version here, and this client does not say its own.
      expect((await client.getAnonymously('/latest_client_version')).json.reason).toBe('not_found');
    });
  });
}

async function admin(...args: string[]): Promise<string> {
  const { database_url, ct_database_url, redis_url } = platform.started;
  const child = await startChild(process.execPath, {
    args: ['dist/tools/admin/main.js', ...args],
    cwd: workspaceRoot,
    env: { DATABASE_URL: database_url, CT_DATABASE_URL: ct_database_url, REDIS_URL: redis_url },
  });
  const { code } = await child.ended;
  if (code !== 0) throw new Error(child.output());
  return child.output();
}

/** Reads the newest mail to the address that names the host, opens its page, and presses the button. */
async function approveByMail(address: string, dnsName: string): Promise<void> {
  const link = await eventually(
    async () => {
      const mails = (await (await fetch(`${platform.started.mailbox}/api/email`)).json()) as {
        to: { address: string }[];
        text: string;
      }[];
      const mail = mails.findLast(
        ({ to, text }) => text.includes(dnsName) && to.some((each) => each.address === address),
      );
      const [url] = /http:\/\/\S+\/approve\/[A-Za-z0-9_-]+/.exec(mail?.text ?? '') ?? [];
      if (url === undefined) throw new Error(`no mail to ${address} about ${dnsName} yet`);
      return url;
    },
    { withinMs: 60_000 },
  );
  expect((await fetch(link)).status).toBe(200);
  const pressed = await fetch(link, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'decision=approve',
  });
  expect(pressed.status).toBe(200);
}
