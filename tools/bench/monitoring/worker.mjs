// What monitoring-worker costs: following the index, storing alerts, backfills, and the time until a webhook is called.
// The real processes, on a durable PostgreSQL. The baselines are plain statements on the same rows.
import 'reflect-metadata';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { bundle } from '../../build/bundle.mjs';
import { freePort, LOOPBACK } from '../../embedded/ports.mjs';
import { loaded } from '../ct/real-entries.mjs';
import { cpuSeconds } from '../cpu-time.mjs';
import { startPlatform } from '../issuance/platform.mjs';

const libs = {
  ct: 'libs/ct/src/index.ts',
  index: 'libs/ct-index/src/index.ts',
  schema: 'libs/ct-schema/src/index.ts',
  sealing: 'libs/sealing/src/index.ts',
};
const statementTimeoutMs = 600_000;
const domainsPerAccount = 10;
const batch = 500;
const maxWaitMs = 300_000;
const storingTurns = 3;

/** The rows that belong to the `chosen` findings, by table. The relay has taken the wake-ups from the outbox already. */
const writtenRows = {
  monitoring_account: `SELECT * FROM monitoring_account WHERE account_id IN (SELECT account_id FROM chosen)`,
  monitoring_finding: `SELECT finding.* FROM chosen JOIN monitoring_finding AS finding USING (account_id, tbs_sha256)`,
  monitoring_finding_domain: `SELECT domain.* FROM chosen JOIN monitoring_finding_domain AS domain USING (account_id, tbs_sha256)`,
  monitored_name: `SELECT name.* FROM chosen JOIN monitored_name AS name USING (account_id, tbs_sha256)`,
  monitored_endpoint: `
    SELECT * FROM monitored_endpoint WHERE (account_id, dns_name) IN (SELECT account_id, unnest(dns_names) FROM chosen)`,
  webhook_delivery: `
    SELECT delivery.* FROM chosen JOIN webhook_delivery AS delivery ON delivery.account_id = chosen.account_id
      AND delivery.subject = 'finding:' || encode(chosen.tbs_sha256, 'hex') AND delivery.state = 'pending'`,
  outbox: `
    SELECT nth AS id, 'deliver-webhook' AS job, encode(tbs_sha256, 'hex') AS job_id, '{}'::jsonb AS payload, now() AS created_at
    FROM chosen`,
};

/** With its indexes, constraints and foreign keys. */
async function copyTable(client, table) {
  await client.query(`CREATE TABLE bench.${table} (LIKE ${table} INCLUDING ALL)`);
  const { rows } = await client.query(
    `SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE conrelid = $1::regclass AND contype = 'f'`,
    [table],
  );
  for (const { definition } of rows) await client.query(`ALTER TABLE bench.${table} ADD ${definition}`);
}

/** Counters, hosts and names may be there already. */
const insertOf = (table) =>
  `INSERT INTO bench.${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::bench.${table}, $1::json)
   ON CONFLICT ${table === 'monitoring_account' ? '(account_id) DO UPDATE SET found = excluded.found' : 'DO NOTHING'}`;

/** @param {{ corpus: any, domains: number, followed: number, alerts: number, backfilled: number, streamSeconds: number }} sizes */
export async function measuredWorker(sizes) {
  const bench = await Bench.open(sizes);
  try {
    const { followed, alerts, backfilled } = sizes;
    console.log(`storing ${followed.toLocaleString('en')} issuances`);
    await bench.start();
    await bench.stopWorker();
    const following = await bench.following(followed);
    console.log('storing alerts');
    const storing = await bench.storing(alerts);
    console.log(`storing ${backfilled.toLocaleString('en')} issuances of one domain, and adding the domain`);
    const backfill = await bench.backfill('.one.example', backfilled);
    console.log('webhooks, with a stream of issuances');
    const alone = await bench.latency();
    console.log('webhooks, with a stream of issuances and a backfill');
    await bench.logMany('two.example', backfilled);
    const running = bench.addDomain('.two.example');
    const beside = await bench.latency();
    const besideMs = await running;
    console.log('new domains');
    const effective = await bench.effective();
    return { following, storing, backfill, alone, beside, besideMs, effective };
  } finally {
    await bench.close();
  }
}

class Bench {
  next = 0;

  static async open(sizes) {
    const bench = new Bench();
    Object.assign(bench, sizes, { libs: await loaded(libs) });
    bench.platform = await startPlatform({ say: (line) => console.log(line), concurrency: '1' });
    try {
      await bench.prepare();
    } catch (error) {
      await bench.close();
      throw error;
    }
    return bench;
  }

  async prepare() {
    const {
      platform,
      libs: { schema, index, sealing },
    } = this;
    this.core = new pg.Pool({ connectionString: platform.databaseUrl, max: 4 });
    await this.core.query('CREATE DATABASE ct');
    const url = new URL(platform.databaseUrl);
    url.pathname = '/ct';
    this.ctUrl = url.href;
    const settings = { url: this.ctUrl, applicationName: 'bench', poolSize: 4, statementTimeoutMs };
    this.ct = await schema.ctDataSource(settings).initialize();
    await this.ct.runMigrations({ transaction: 'each' });
    await index.ensurePartitions(this.ct, new Date(), 1_000_000, 1_000_000);
    this.ids = new index.IssuerIds();
    this.key = randomBytes(32);
    this.sealing = new sealing.SealingKeys([this.key]);
    this.received = new Map();
    this.receiver = createServer((request, response) => {
      const chunks = [];
      const receivedMs = performance.now();
      request.on('data', (chunk) => chunks.push(chunk));
      request.once('end', () => {
        const { issuance } = JSON.parse(Buffer.concat(chunks).toString());
        if (issuance) this.received.set(issuance.tbs_sha256, receivedMs);
        response.writeHead(204).end();
      });
    });
    await new Promise((resolve) => this.receiver.listen(0, LOOPBACK, resolve));
    await this.addAccounts();
  }

  /** All domains; every account has a webhook. */
  async addAccounts() {
    const accounts = Math.ceil(this.domains / domainsPerAccount);
    await this.core.query(
      `INSERT INTO account (id, name, contact_email, max_monitored_domains, max_findings_per_day)
       SELECT 1000000 + n, 'bench', '', 100000, 1000000 FROM generate_series(1, $1::int) AS n`,
      [accounts],
    );
    const url = `http://${LOOPBACK}:${this.receiver.address().port}/`;
    const rows = Array.from({ length: accounts }, (_, nth) => {
      const id = String(1_000_001 + nth);
      const secret = `whsec_${randomBytes(32).toString('base64')}`;
      return [
        id,
        this.sealing.seal(secret, `webhook-endpoint:${id}:secret`, randomBytes(12)).toString('hex'),
      ];
    });
    await this.core.query(
      `INSERT INTO webhook_endpoint (id, account_id, url, secret_sealed, description, enabled, events)
       SELECT id, id, $3, decode(secret, 'hex'), '', true, '{monitoring.*}'
       FROM unnest($1::bigint[], $2::text[]) AS given (id, secret)`,
      [rows.map(([id]) => id), rows.map(([, secret]) => secret), url],
    );
    const names = Array.from({ length: this.domains }, (_, nth) => this.corpus.domain(nth));
    for (let from = 0; from < names.length; from += 10_000) {
      const some = names.slice(from, from + 10_000);
      await this.core.query(
        `INSERT INTO monitored_domain (account_id, name, enabled)
         SELECT account, name, true FROM unnest($1::bigint[], $2::text[]) AS given (account, name) ON CONFLICT DO NOTHING`,
        [some.map((_, nth) => 1_000_001 + Math.floor((from + nth) / domainsPerAccount)), some],
      );
    }
    await this.core.query('ANALYZE');
  }

  async start() {
    await this.startWorker();
    await bundle({ main: 'apps/notifier/src/main.ts' }, 'dist/apps/notifier');
    const ops = `http://${LOOPBACK}:${await freePort()}`;
    const env = {
      ...this.platform.environment,
      OPS_PORT: new URL(ops).port,
      SEALING_KEYS: this.key.toString('base64'),
      ALLOWED_NETWORKS: '127.0.0.0/8',
      SMTP_URL: `smtp://${LOOPBACK}:1`,
      SMTP_REQUIRE_TLS: 'false',
      SMTP_FROM: 'bench@example.com',
      APPROVAL_URL: `http://${LOOPBACK}:1`,
    };
    await this.platform.start('notifier', 'dist/apps/notifier', env, `${ops}/readyz`);
  }

  async startWorker() {
    await bundle({ main: 'apps/monitoring-worker/src/main.ts' }, 'dist/apps/monitoring-worker');
    this.workerOps = `http://${LOOPBACK}:${await freePort()}`;
    const env = {
      ...this.platform.environment,
      CT_DATABASE_URL: this.ctUrl,
      OPS_PORT: new URL(this.workerOps).port,
      LEASE_TIME: '5s',
    };
    const program = 'dist/apps/monitoring-worker';
    await this.platform.start('monitoring-worker', program, env, `${this.workerOps}/readyz`);
    await this.until(async () => (await this.position()) !== null);
  }

  async stopWorker() {
    const { pid } = this;
    process.kill(pid, 'SIGTERM');
    await this.until(() => {
      try {
        return process.kill(pid, 0) === false;
      } catch {
        return true;
      }
    });
  }

  get pid() {
    return this.platform.pids['monitoring-worker'];
  }

  async until(condition, everyMs = 20) {
    const begun = performance.now();
    while (!(await condition())) {
      if (performance.now() - begun > maxWaitMs)
        throw new Error(`not so after ${maxWaitMs} ms: ${condition}`);
      await delay(everyMs);
    }
    return performance.now() - begun;
  }

  async position() {
    const { rows } = await this.core.query('SELECT position FROM monitoring_follower');
    return rows[0] === undefined ? null : Number(rows[0].position);
  }

  async end() {
    const [{ next }] = await this.ct.query('SELECT next FROM ct_sequence');
    return Number(next) - 1;
  }

  /** An issuance with these names, as ct-ingest passes it on. */
  issuance(dnsNames) {
    const tbsSha256 = createHash('sha256')
      .update(`bench ${(this.next += 1)}`)
      .digest('hex');
    const der = randomBytes(1_200);
    der[0] = 0x30;
    const notBefore = new Date(Math.floor(Date.now() / 1_000) * 1_000);
    return {
      tbsSha256,
      certSha256: createHash('sha256').update(der).digest('hex'),
      precertificate: false,
      spkiSha256: createHash('sha256').update(`key ${tbsSha256}`).digest('hex'),
      issuer: { spkiSha256: Buffer.alloc(32, 7), nameDer: Buffer.from('3000', 'hex'), spkiDer: null },
      crlUrl: null,
      serial: Buffer.from(tbsSha256.slice(0, 32), 'hex'),
      notBefore,
      notAfter: new Date(notBefore.getTime() + 90 * 86_400_000),
      dnsNames,
      oddNames: [],
      nameKeys: this.libs.ct.indexKeys(dnsNames),
      body: this.libs.index.packBody(der, 'none'),
    };
  }

  /** In one transaction. @returns when it was committed */
  async log(issuances) {
    const { index } = this.libs;
    await this.ids.ensure(
      this.ct.manager,
      issuances.map(({ issuer }) => issuer),
    );
    const crls = issuances.map(() => null);
    await this.ct.transaction(async (tx) => await index.storeIssuances(tx, this.ids, issuances, crls));
    return performance.now();
  }

  async logAll(count, namesOf) {
    for (let from = 0; from < count; from += batch) {
      const size = Math.min(batch, count - from);
      await this.log(Array.from({ length: size }, (_, nth) => this.issuance(namesOf(from + nth))));
    }
  }

  /** Until they are matched: what is not would be found in the stream when the domain is added. */
  async logMany(domain, count) {
    await this.logAll(count, (nth) => [`n${nth}.${domain}`]);
    const end = await this.end();
    await this.until(async () => (await this.position()) >= end);
  }

  /** Names that concern no account. */
  unconcerned(nth) {
    return this.corpus.names(nth, 10_000_000 + nth);
  }

  /** Names of a monitored domain. */
  concerned(nth) {
    const domain = this.corpus.domain((nth * 7_919) % this.domains);
    return [domain.startsWith('.') ? `w${nth}${domain}` : domain];
  }

  /** With nothing to report. */
  async following(count) {
    const from = await this.end();
    await this.logAll(count, (nth) => this.unconcerned(nth));
    await this.ct.query('ANALYZE ct_issuance');
    const plain = await this.plainReads(from);
    await this.startWorker();
    await this.until(async () => (await this.position()) > from, 5);
    const [begunAt, begun, cpu] = [await this.position(), performance.now(), cpuSeconds(this.pid)];
    const to = await this.end();
    await this.until(async () => (await this.position()) >= to, 10);
    const seconds = (performance.now() - begun) / 1_000;
    const matched = to - begunAt;
    return { perSecond: matched / seconds, cpuUs: ((cpuSeconds(this.pid) - cpu) * 1e6) / matched, plain };
  }

  /** The same columns of the same rows in the same pages. @returns rows per second */
  async plainReads(from) {
    let after = from;
    const begun = performance.now();
    let count = 0;
    for (;;) {
      const rows = await this.ct.query(
        `SELECT position, tbs_sha256, spki_sha256, issuer, not_before, not_after, discovered_at, dns_names, odd_names
         FROM ct_issuance WHERE position > $1 ORDER BY position LIMIT 2000`,
        [after],
      );
      if (rows.length === 0) break;
      count += rows.length;
      after = rows.at(-1).position;
    }
    return (count * 1_000) / (performance.now() - begun);
  }

  /** In turns with plain inserts of the same rows. @returns the medians */
  async storing(count) {
    const turns = [];
    for (let turn = 0; turn < storingTurns; turn += 1)
      turns.push(await this.storingOnce(Math.ceil(count / storingTurns)));
    const median = (of) => turns.map(of).sort((a, b) => a - b)[Math.floor(storingTurns / 2)];
    return {
      perSecond: median(({ perSecond }) => perSecond),
      plain: median(({ plain }) => plain),
      ratio: median(({ perSecond, plain }) => perSecond / plain),
    };
  }

  /** Findings and deliveries that are not sent: the notifier would use the same processor. */
  async storingOnce(count) {
    await this.stopWorker();
    const from = await this.end();
    await this.logAll(count, (nth) => this.concerned(from + nth));
    const end = await this.end();
    process.kill(this.platform.pids.notifier, 'SIGSTOP');
    try {
      await this.startWorker();
      await this.until(async () => await this.hasLoadedDomains(), 5);
      const begun = performance.now();
      await this.until(async () => (await this.position()) >= end && !(await this.hasDueAlerts()), 10);
      const seconds = (performance.now() - begun) / 1_000;
      return { perSecond: count / seconds, plain: await this.plainInserts(from) };
    } finally {
      process.kill(this.platform.pids.notifier, 'SIGCONT');
      await this.until(async () => await this.isQuiet(), 200);
    }
  }

  async hasLoadedDomains() {
    const response = await fetch(`${this.workerOps}/metrics`);
    return /^certwright_monitoring_domains(\{.*\})? [1-9]/m.test(await response.text());
  }

  async hasDueAlerts() {
    const { rows } = await this.core.query(
      'SELECT EXISTS (SELECT 1 FROM monitoring_finding WHERE alert_due_at IS NOT NULL) AS due',
    );
    return rows[0].due;
  }

  async isQuiet() {
    const { rows } = await this.core.query(
      `SELECT count(*)::int AS waiting FROM webhook_delivery WHERE state = 'pending' AND due_at < now() + interval '5 s'`,
    );
    return rows[0].waiting === 0;
  }

  /**
   * What storing the alerts after a position has left, inserted again into copies of the tables with their indexes and foreign
   * keys, by a client that has all rows ready. @returns alerts per second
   */
  async plainInserts(from) {
    const client = await this.core.connect();
    try {
      await client.query('CREATE SCHEMA bench');
      for (const table of Object.keys(writtenRows)) await copyTable(client, table);
      await client.query(
        `CREATE TABLE bench.chosen AS
         SELECT account_id, tbs_sha256, dns_names, row_number() OVER (ORDER BY position) AS nth
         FROM monitoring_finding WHERE position > ${from}`,
      );
      await client.query('ANALYZE bench.chosen');
      const batches = [];
      let alerts = 0;
      for (;;) {
        const rows = {};
        for (const [table, select] of Object.entries(writtenRows)) {
          const { rows: found } = await client.query(
            `WITH chosen AS MATERIALIZED (SELECT * FROM bench.chosen WHERE nth > $1 AND nth <= $1 + $2::int)
             SELECT count(*)::int AS count, coalesce(json_agg(written), '[]')::text AS json FROM (${select}) AS written`,
            [alerts, batch],
          );
          rows[table] = found[0];
        }
        const { count } = rows.monitoring_finding;
        if (count === 0) break;
        alerts += count;
        batches.push(rows);
      }
      const begun = performance.now();
      for (const rows of batches) {
        await client.query('BEGIN');
        for (const [table, { json }] of Object.entries(rows)) await client.query(insertOf(table), [json]);
        await client.query('COMMIT');
      }
      return (alerts * 1_000) / (performance.now() - begun);
    } finally {
      await client.query('DROP SCHEMA IF EXISTS bench CASCADE');
      client.release();
    }
  }

  /** As apps/monitoring does. */
  async setDomain(account, name) {
    const client = await this.core.connect();
    try {
      await client.query('BEGIN');
      await client.query('INSERT INTO monitored_domain (account_id, name, enabled) VALUES ($1, $2, true)', [
        account,
        name,
      ]);
      await client.query(
        `INSERT INTO monitoring_change (transaction_id, account_id, object, name, action, after)
         VALUES (pg_current_xact_id()::text::bigint, $1, 'monitored_domain', $2, 'created', $3)`,
        [account, name, { name, enabled: true }],
      );
      await client.query('COMMIT');
    } finally {
      client.release();
    }
    return performance.now();
  }

  /** @returns how long its backfill took, ms */
  async addDomain(name) {
    const begun = await this.setDomain(1_000_001, name);
    await this.until(async () => {
      const { rows } = await this.core.query(
        `SELECT 1 FROM monitoring_backfill WHERE name = $1 AND state = 'done'`,
        [name],
      );
      return rows.length > 0;
    }, 50);
    return performance.now() - begun;
  }

  async backfill(name, count) {
    await this.logMany(name.slice(1), count);
    return await this.addDomain(name);
  }

  /** From the commit of an issuance until its webhook is called, while 2,000 issuances per second are stored. */
  async latency() {
    const perSecond = 2_000;
    const turns = this.streamSeconds * 10;
    const committed = new Map();
    const begun = performance.now();
    let stored = 0;
    for (let turn = 0; turn < turns; turn += 1) {
      const issuances = Array.from({ length: perSecond / 10 }, (_, nth) =>
        this.issuance(nth < 2 ? this.concerned(stored + nth * 31) : this.unconcerned(stored + nth)),
      );
      const at = await this.log(issuances);
      for (const { tbsSha256 } of issuances.slice(0, 2)) committed.set(tbsSha256, at);
      stored += issuances.length;
      const restMs = (turn + 1) * 100 - (performance.now() - begun);
      if (restMs > 0) await delay(restMs);
    }
    const seconds = (performance.now() - begun) / 1_000;
    await this.until(() => [...committed.keys()].every((tbs) => this.received.has(tbs)), 50);
    const delays = [...committed].map(([tbs, at]) => this.received.get(tbs) - at).sort((a, b) => a - b);
    const at = (share) => delays[Math.min(delays.length - 1, Math.floor(delays.length * share))];
    return {
      p50: at(0.5),
      p99: at(0.99),
      max: delays.at(-1),
      perSecond: stored / seconds,
      alerts: delays.length,
    };
  }

  /** From the commit of a new domain until an issuance for it is found as it is stored, ms; the longest of some. */
  async effective() {
    const times = [];
    for (let each = 0; each < 5; each += 1) {
      const domain = `.effective${each}.example`;
      const begun = await this.setDomain(1_000_002, domain);
      const logged = [];
      let first;
      while (first === undefined) {
        // Fewer than the webhooks of an account in an hour, for all domains together.
        if (logged.length < 150) {
          const issuance = this.issuance([`w${logged.length}${domain}`]);
          logged.push({ tbs: issuance.tbsSha256, at: await this.log([issuance]) });
        }
        await delay(50);
        first = logged.find(({ tbs }) => this.received.has(tbs));
        if (performance.now() - begun > 30_000)
          throw new Error(`${domain} is not effective: ${await this.stateOf(1_000_002, domain)}`);
      }
      times.push(first.at - begun);
    }
    return Math.max(...times);
  }

  /** How far findings of a domain have come. */
  async stateOf(account, domain) {
    const { rows } = await this.core.query(
      `SELECT finding.source, finding.state, finding.alert_due_at IS NOT NULL AS due, delivery.state AS delivery,
         delivery.attempts, count(*)::int AS count, max(delivery.due_at - now())::text AS due_in
       FROM monitoring_finding AS finding LEFT JOIN webhook_delivery AS delivery
         ON delivery.account_id = finding.account_id AND delivery.subject = 'finding:' || encode(finding.tbs_sha256, 'hex')
       WHERE finding.account_id = $1 AND $2 = ANY (finding.monitored_domains) GROUP BY 1, 2, 3, 4, 5`,
      [account, domain],
    );
    return JSON.stringify({ position: await this.position(), end: await this.end(), findings: rows });
  }

  async close() {
    await this.core?.end();
    if (this.ct?.isInitialized) await this.ct.destroy();
    this.receiver?.closeAllConnections();
    this.receiver?.close();
    await this.platform.stop();
  }
}
