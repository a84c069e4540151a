// @ts-check
// An account with very many certificates beside an account with one: the one alert arrives within seconds.
import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { loaded } from '../../bench/ct/real-entries.mjs';
import { until } from '../until.mjs';
import { Ca } from './certificates.mjs';

const CERTIFICATES = 200_000;
const BATCH = 500;
const SAMPLES = 12;
const PAUSE_MS = 1_000;
/** From the log to the webhook: the log merges after half a second, and ct-ingest polls every second. */
const MAX_LATENCY_MS = 15_000;
const FOLLOWED_WITHIN_MS = 600_000;

const libs = {
  ct: 'libs/ct/src/index.ts',
  index: 'libs/ct-index/src/index.ts',
  schema: 'libs/ct-schema/src/index.ts',
};

/** @param {import('./run.mjs').Run} all @returns {Promise<string[]>} problems */
export async function manyMatches({ platform, tenants, stream, say }) {
  const problems = [];
  const [busyDomain, quietDomain] = [stream.domain('busy'), stream.domain('quiet')];
  const quiet = await tenants.add('quiet', [`.${quietDomain}`]);
  const busy = await tenants.add('busy', [], { isBusy: true });
  const ca = new Ca('Unrelated CA');
  const sample = async (/** @type {string} */ what) => {
    const fromMs = Date.now();
    for (let nth = 0; nth < SAMPLES; nth += 1) {
      await tenants.log(ca.issue([`n${nth}.${quietDomain}`]), { unknownTo: [quiet] });
      await delay(PAUSE_MS);
    }
    await until(() => quiet.missing().length === 0, { what: `alerts ${what}`, withinMs: FOLLOWED_WITHIN_MS });
    const latencies = quiet.latencies(fromMs);
    const [p50 = 0, longest = 0] = [latencies[SAMPLES >> 1], latencies.at(-1)];
    say(`  ${what}: p50 ${(p50 / 1_000).toFixed(1)} s, longest ${(longest / 1_000).toFixed(1)} s`);
    if (longest > MAX_LATENCY_MS) problems.push(`quiet: an alert took ${longest} ms ${what}`);
  };
  await sample('alone');
  await busy.monitoring(`/monitored_domains/.${busyDomain}`, {});
  const index = await Index.open(platform.ct.directUrl);
  try {
    const storing = index.store(CERTIFICATES, (nth) => [`n${nth}.${busyDomain}`]);
    await sample(`while ${CERTIFICATES} certificates of another account are found`);
    await storing;
    const end = await index.end();
    await until(async () => (await position(platform)) >= end, {
      what: 'the index to be followed',
      withinMs: FOLLOWED_WITHIN_MS,
    });
    const usage = (await busy.monitoring('/status')).usage;
    say(`  the other account: ${usage.findings_per_day} found, ${usage.throttled} only counted`);
    if (usage.findings_per_day + usage.throttled !== CERTIFICATES)
      problems.push(`busy: ${usage.findings_per_day} found and ${usage.throttled} throttled`);
    await platform.core.query(dueFindings, [busy.account.account_id, CERTIFICATES, `.${busyDomain}`]);
    await sample(`while ${CERTIFICATES} alerts of another account are due`);
    const other = await tenants.add('late', [], { isBusy: true });
    const begunMs = Date.now();
    await other.monitoring(`/monitored_domains/.${busyDomain}`, {});
    await sample(`while ${CERTIFICATES} certificates are found for a new domain of another account`);
    await until(async () => (await other.monitoring('/status')).backfills.length === 0, {
      what: 'the backfill',
      withinMs: FOLLOWED_WITHIN_MS,
    });
    const own = (await quiet.monitoring('/status')).usage;
    if (own.findings_per_day !== quiet.unknown.size || own.throttled !== 0)
      problems.push(`quiet: its status shows ${JSON.stringify(own)}`);
    say(`  backfill of ${CERTIFICATES} certificates: ${((Date.now() - begunMs) / 1_000).toFixed(0)} s`);
  } finally {
    await index.close();
  }
  return [...problems, ...(await tenants.problems())];
}

/** @param {import('./platform.mjs').MonitoringPlatform} platform */
async function position({ core }) {
  const [row] = await core.query('SELECT position FROM monitoring_follower');
  return Number(row.position);
}

/** As if all of them had been found on a day when the limit was higher. $1: account, $2: how many, $3: monitored domain */
const dueFindings = `
  INSERT INTO monitoring_finding (account_id, tbs_sha256, spki_sha256, not_after, dns_names_sha256, endpoints, endpoint_count,
    dns_names, monitored_domains, source, state, reason, found_at, alert_due_at)
  SELECT $1::bigint, sha256(('due ' || nth)::bytea), sha256(('key ' || nth)::bytea), now() + interval '90 days',
    sha256('names'), jsonb_build_array(jsonb_build_object('dns_name', 'due' || nth || $3::text, 'monitored_domain', $3::text,
      'wildcard', false, 'odd_name', false)), 1, ARRAY['due' || nth || $3::text], ARRAY[$3::text],
    'stream', 'unknown', 'unknown', now(), now()
  FROM generate_series(1, $2::int) AS nth`;

/** Writes to the index as ct-ingest does. */
class Index {
  #libs;
  #ct;
  #ids;

  /** @param {any} libs @param {any} ct */
  constructor(libs, ct) {
    this.#libs = libs;
    this.#ct = ct;
    this.#ids = new libs.index.IssuerIds();
  }

  /** @param {string} url */
  static async open(url) {
    const all = /** @type {any} */ (await loaded(libs));
    const settings = { url, applicationName: 'faults', poolSize: 2, statementTimeoutMs: 600_000 };
    return new Index(all, await all.schema.ctDataSource(settings).initialize());
  }

  /** @param {number} count @param {(nth: number) => string[]} namesOf */
  async store(count, namesOf) {
    for (let from = 0; from < count; from += BATCH) {
      const issuances = Array.from({ length: BATCH }, (_, nth) => this.#issuance(namesOf(from + nth)));
      await this.#ids.ensure(
        this.#ct.manager,
        issuances.map(({ issuer }) => issuer),
      );
      const crls = issuances.map(() => null);
      await this.#ct.transaction(
        async (/** @type {any} */ tx) =>
          await this.#libs.index.storeIssuances(tx, this.#ids, issuances, crls),
      );
    }
  }

  async end() {
    const [{ next }] = await this.#ct.query('SELECT next FROM ct_sequence');
    return Number(next) - 1;
  }

  async close() {
    await this.#ct.destroy();
  }

  /** @param {string[]} dnsNames */
  #issuance(dnsNames) {
    const der = randomBytes(1_000);
    const hex = (/** @type {Uint8Array} */ bytes) => createHash('sha256').update(bytes).digest('hex');
    const notBefore = new Date(Math.floor(Date.now() / 1_000) * 1_000);
    return {
      tbsSha256: hex(der.subarray(1)),
      certSha256: hex(der),
      precertificate: false,
      spkiSha256: hex(der.subarray(2)),
      issuer: { spkiSha256: Buffer.alloc(32, 7), nameDer: Buffer.from('3000', 'hex'), spkiDer: null },
      crlUrl: null,
      serial: der.subarray(0, 16),
      notBefore,
      notAfter: new Date(notBefore.getTime() + 90 * 86_400_000),
      dnsNames,
      oddNames: [],
      nameKeys: this.#libs.ct.indexKeys(dnsNames),
      body: this.#libs.index.packBody(der, 'none'),
    };
  }
}
