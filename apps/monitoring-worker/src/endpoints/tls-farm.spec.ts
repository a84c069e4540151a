import { execFileSync } from 'node:child_process';
import path from 'node:path';
import type { FindingCode } from '@certwright/endpoint-checks';
import { readCertificate } from '@certwright/pki';
import { ProbeQuestions } from '@certwright/redis';
import { type Forged, startChild, testRedis } from '@certwright/testing';
import { type FarmHost, openTlsFarm, type TlsFarm } from '@certwright/tls-farm';
import { EndpointsFixture, hourMs, minuteMs } from '../testing/endpoints-fixture';

jest.setTimeout(300_000);

const workspaceRoot = path.join(__dirname, '../../../..');
const undo: (() => Promise<unknown>)[] = [];
let fixture: EndpointsFixture;
let farm: TlsFarm;

beforeAll(async () => {
  execFileSync(process.execPath, ['tools/build/build.mjs', 'apps/prober'], { cwd: workspaceRoot });
  farm = await openTlsFarm();
  undo.push(async () => await farm.close());
  const redis = await testRedis();
  undo.push(async () => await redis.dispose());
  const child = await startChild(process.execPath, {
    args: [path.join(workspaceRoot, 'dist/apps/prober/main.js')],
    env: {
      ...redis.environment,
      DNS_RESOLVERS: `${farm.resolver.host}:${farm.resolver.port}`,
      ALLOWED_NETWORKS: farm.allowedNetworks.join(),
      // So few connections at a time that each is made in time on a busy machine.
      PROBE_CONCURRENCY: '16',
      OPS_PORT: '0',
    },
  });
  await child.says(/"started"/, 60_000);
  const log = { warn: () => undefined, info: () => undefined };
  const prober = new ProbeQuestions(redis.access, { name: 'spec', log });
  undo.push(async () => await prober.close());
  fixture = await EndpointsFixture.open();
  undo.push(async () => await fixture.close());
  fixture.prober = prober;
  fixture.trusted = farm.certificates.root;
  await fixture.use({ ENDPOINT_CHECK_EVERY: roundMs });
  const { upper, lower, weakUpper } = farm.certificates;
  for (const ca of [upper, lower, weakUpper]) await addToIndex(ca);
}, 120_000);
afterAll(async () => {
  for (const step of undo.reverse()) await step();
});

/** Fewer rounds than with the default. */
const roundMs = 12 * hourMs;
/** All of a round and its jitter. */
const oneRoundMs = 13.5 * hourMs;
/** Three checks, each at most 10 minutes and a tick after the one before. */
const confirmMs = 45 * minuteMs;
/** Rounds need few steps then, and those without a response end together. */
const coarseMs = 3 * hourMs;

/** As an issuer of a certificate in a log. */
async function addToIndex({ der }: Forged): Promise<void> {
  const reading = readCertificate(der);
  if (!reading.ok) throw new Error(reading.detail);
  const { subject, spkiDer, spkiSha256 } = reading.certificate;
  await fixture.findings.ct.query(
    `INSERT INTO ct_issuer (spki_sha256, name_sha256, name_der, spki_der, certificate_der)
     VALUES (decode($1, 'hex'), sha256($2), $2, $3, $4)`,
    [spkiSha256, Buffer.from(subject.der), Buffer.from(spkiDer), der],
  );
}

async function monitor(hosts: readonly FarmHost[]): Promise<string> {
  const account = await fixture.account();
  await query(
    `INSERT INTO monitored_domain (account_id, name, enabled) VALUES ($1, '.example.net', true)`,
    account,
  );
  await fixture.add(
    account,
    hosts.map(({ host }) => host),
    [farm.port],
  );
  return account;
}

const query = async (statement: string, ...values: unknown[]) =>
  await fixture.findings.core.query(statement, values);

/** All of them, and three checks of what changed. */
async function checkNow(hosts: Iterable<string>): Promise<void> {
  await query(`UPDATE monitored_endpoint SET check_due_at = $1 WHERE dns_name = ANY ($2)`, fixture.now, [
    ...hosts,
  ]);
  await fixture.pass(confirmMs);
}

/** As if the time passed in which mails are gathered; a mail has 50 reports. */
async function sendMails(): Promise<void> {
  for (let nth = 0; nth < 4; nth += 1) {
    await query(
      `UPDATE monitoring_account SET endpoint_mailed_at = endpoint_mailed_at - interval '15 minutes',
         endpoint_mail_due_at = endpoint_mail_due_at - interval '15 minutes'`,
    );
    await fixture.sendMails();
  }
}

/** `problem expired.example.com: expired`, in alphabetical order: all reports so far, which webhooks and mails have too. */
async function received(account: string): Promise<readonly string[]> {
  await sendMails();
  const columns = `report.kind || ' ' || report.dns_name || ': ' || (finding->>'code') AS line`;
  const findings = `jsonb_array_elements(report.findings) AS finding`;
  const reported = await query(
    `SELECT ${columns} FROM endpoint_report AS report, ${findings} WHERE account_id = $1`,
    account,
  );
  const mailed = await query(
    `SELECT ${columns} FROM mail, jsonb_array_elements_text(facts->'reportIds') AS mailed (id)
     JOIN endpoint_report AS report ON report.id = mailed.id::bigint, ${findings}
     WHERE mail.account_id = $1 AND mail.kind = 'monitoring-endpoints'`,
    account,
  );
  const lines = (rows: readonly { line: string }[]) => rows.map(({ line }) => line).sort();
  const sent = (await fixture.sent(account)).flatMap((webhook) => {
    const [event, codes = ''] = webhook.split(': ');
    // A webhook has a finding once for each address.
    return [...new Set(codes.split(','))].map((code) => `${event}: ${code}`);
  });
  expect([...sent].sort()).toEqual(lines(reported));
  expect(lines(mailed)).toEqual(lines(reported));
  return lines(reported);
}

/** Never reported, or not of hosts that served nothing in the last seven days. */
const unreported: readonly FindingCode[] = ['addresses_differ', 'unreachable'];

const linesOf = (kind: 'problem' | 'recovered', host: string, codes: readonly FindingCode[]) =>
  codes.map((code) => `${kind} ${host}: ${code}`);

/** What is reported of hosts by what the farm states of them. */
const reportsOf = (kind: 'problem' | 'recovered', hosts: readonly FarmHost[]): readonly string[] =>
  hosts.flatMap(({ host, findings: [codes = [], ...others] }) =>
    // One that changes with each connection is never confirmed.
    others.length > 0
      ? []
      : linesOf(
          kind,
          host,
          codes.filter((code) => !unreported.includes(code)),
        ),
  );

const operatorMails = async () => (await fixture.mails(null)).map(({ kind }) => kind);
const alarms = () => fixture.logged.filter((line) => line.includes('ALARM'));

it('reports each finding of a farm of TLS servers once, withdraws it once, and reports nothing in an outage', async () => {
  const { changes, hosts } = farm;
  const isFlapping = ({ findings }: FarmHost) => findings.length > 1;
  // Two accounts would get the certificates of a flapping host in turns.
  const someHosts = hosts.filter((host, nth) => nth % 4 === 0 && !isFlapping(host));
  const unsound = hosts.filter(({ findings }) => findings.some((codes) => codes.length > 0));
  expect([hosts.length > 70, unsound.length > 50, someHosts.length > 20]).toEqual([true, true, true]);
  const accounts = [
    { id: await monitor(hosts), hosts },
    { id: await monitor(someHosts), hosts: someHosts },
  ];
  const expected = accounts.map(() => [] as readonly string[]);
  const expectAll = async (linesOfHosts: (hosts: readonly FarmHost[]) => readonly string[]) => {
    for (const [nth, account] of accounts.entries()) {
      expected[nth] = [...(expected[nth] ?? []), ...linesOfHosts(account.hosts)].sort();
      expect(await received(account.id)).toEqual(expected[nth]);
    }
  };

  await fixture.pass(confirmMs);
  await expectAll((each) => reportsOf('problem', each));
  await fixture.pass(2 * oneRoundMs, coarseMs);
  await expectAll(() => []);

  for (const { host } of unsound) changes.corrected.add(host);
  await checkNow(hosts.map(({ host }) => host));
  await expectAll((each) => reportsOf('recovered', each));
  await fixture.pass(oneRoundMs, coarseMs);
  await expectAll(() => []);

  // So few that nothing is held back.
  const lost = ['reset.example.com', 'megabyte-chain.example.com'];
  const [ofBoth = '', ofOne = ''] = lost;
  const lostOf = (kind: 'problem' | 'recovered', which: readonly string[]) => (each: readonly FarmHost[]) =>
    each.flatMap(({ host }) => (which.includes(host) ? linesOf(kind, host, ['unreachable']) : []));
  expect(accounts.map((account) => lostOf('problem', lost)(account.hosts).length)).toEqual([2, 1]);
  for (const host of lost) changes.corrected.delete(host);
  await checkNow(lost);
  await fixture.pass(23 * hourMs, coarseMs);
  await expectAll(() => []);
  await fixture.pass(1 * hourMs);
  await checkNow(lost);
  await expectAll(lostOf('problem', lost));
  expect([await operatorMails(), alarms()]).toEqual([[], []]);

  changes.outage = 'connections';
  await fixture.pass(40 * hourMs, coarseMs);
  await expectAll(() => []);
  changes.outage = 'names';
  changes.corrected.add(ofBoth);
  await fixture.pass(12 * hourMs, coarseMs);
  await expectAll(() => []);
  expect(await operatorMails()).toEqual(['monitoring-endpoints-held']);
  expect(alarms()).toHaveLength(1);

  changes.outage = null;
  await fixture.pass(3 * hourMs);
  await expectAll(lostOf('recovered', [ofBoth]));
  changes.corrected.add(ofOne);
  await checkNow([ofOne]);
  await expectAll(lostOf('recovered', [ofOne]));
  await fixture.pass(oneRoundMs, coarseMs);
  await expectAll(() => []);
  expect(await operatorMails()).toEqual(['monitoring-endpoints-held']);
  expect(alarms()).toHaveLength(1);
});
