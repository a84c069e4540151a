// @ts-check
// An account with very many certificates beside an account with one: the one alert arrives within seconds.
import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { loaded } from '../../bench/ct/real-entries.mjs';
import { until } from '../until.mjs';
import { Ca } from './certificates.mjs';
import { followedPosition, lastPosition } from './platform.mjs';

const BATCH = 500;
/** Of one statement: alerts are sent while the others are stored. */
const DUE_BATCH = 20_000;
const SAMPLES = 12;
const PAUSE_MS = 1_000;
/**
 * From the log to the webhook: the log merges after half a second, and ct-ingest polls every second. On a loaded machine, the
 * latency without the other account is the measure.
 */
const MAX_LATENCY_MS = 15_000;
const MAX_TIMES_ALONE = 5;
const FOLLOWED_WITHIN_MS = 1_800_000;

const libs = {
  ct: 'libs/ct/src/index.ts',
  index: 'libs/ct-index/src/index.ts',
  schema: 'libs/ct-schema/src/index.ts',
};

/** @param {import('./run.mjs').Run} all @returns {Promise<string[]>} problems */
export async function manyMatches({ platform, tenants, stream, certificates, say }) {
  const problems = [];
  const [busyDomain, quietDomain] = [stream.domain('busy'), stream.domain('quiet')];
  const quiet = await tenants.add('quiet', [`.${quietDomain}`]);
  const busy = await tenants.add('busy', [], { isBusy: true });
  const ca = new Ca('Unrelated CA');
  const sample = async (
    /** @type {string} */ what,
    /** @type {Promise<unknown>} */ work = Promise.resolve(),
  ) => {
    const fromMs = Date.now();
    let isOver = false;
    // Its failure is thrown below.
    void work.catch(() => undefined).finally(() => (isOver = true));
    for (let nth = 0; nth < SAMPLES || !isOver; nth += 1) {
      await tenants.log(ca.issue([`n${nth}.${quietDomain}`]), { unknownTo: [quiet] });
      await delay(PAUSE_MS);
    }
    await work;
    await until(() => quiet.missing().length === 0, { what: `alerts ${what}`, withinMs: FOLLOWED_WITHIN_MS });
    const latencies = quiet.latencies(fromMs);
    const [p50 = 0, longest = 0] = [latencies[latencies.length >> 1], latencies.at(-1)];
    const times = `p50 ${(p50 / 1_000).toFixed(1)} s, longest ${(longest / 1_000).toFixed(1)} s`;
    say(`  ${what}: ${latencies.length} alerts in ${elapsed(fromMs)} s; ${times}`);
    return longest;
  };
  const maxMs = Math.max(MAX_LATENCY_MS, MAX_TIMES_ALONE * (await sample('alone')));
  const check = async (/** @type {string} */ what, /** @type {Promise<unknown> | undefined} */ work) => {
    const longest = await sample(what, work);
    if (longest > maxMs) problems.push(`quiet: an alert took ${longest} ms ${what}`);
  };
  await busy.monitoring(`/monitored_domains/.${busyDomain}`, {});
  const index = await Index.open(platform.ct.directUrl);
  try {
    const found = async () => {
      await index.store(certificates, (nth) => [`n${nth}.${busyDomain}`]);
      const end = await lastPosition(platform);
      await until(async () => (await followedPosition(platform)) >= end, {
        what: 'the index to be followed',
        withinMs: FOLLOWED_WITHIN_MS,
      });
    };
    await check(`while ${certificates} certificates of another account are found`, found());
    const counted = async (/** @type {import('./tenants.mjs').Tenant} */ tenant) => {
      const { findings_per_day: found, throttled } = (await tenant.monitoring('/status')).usage;
      say(`  the account ${tenant.name}: ${found} found, ${throttled} only counted`);
      if (found + throttled !== certificates)
        problems.push(`${tenant.name}: ${found} found and ${throttled} throttled`);
    };
    await counted(busy);
    for (let first = 1; first <= certificates; first += DUE_BATCH) {
      const last = Math.min(certificates, first + DUE_BATCH - 1);
      await platform.core.query(dueFindings, [busy.account.account_id, first, last, `.${busyDomain}`]);
    }
    await check(`while ${certificates} alerts of another account are due`, undefined);
    const late = await tenants.add('late', [], { isBusy: true });
    await late.monitoring(`/monitored_domains/.${busyDomain}`, {});
    // The worker creates the backfill when it has read the change.
    const backfill = async () =>
      (await late.monitoring(`/monitored_domains/.${busyDomain}?expand=status`)).status.backfill;
    const backfilled = until(async () => (await backfill())?.state === 'done', {
      what: 'the backfill',
      withinMs: FOLLOWED_WITHIN_MS,
    });
    await check(`while ${certificates} certificates are backfilled for another account`, backfilled);
    await counted(late);
    const own = (await quiet.monitoring('/status')).usage;
    if (own.findings_per_day !== quiet.unknown.size || own.throttled !== 0)
      problems.push(`quiet: its status shows ${JSON.stringify(own)}`);
  } finally {
    await index.close();
  }
  return [...problems, ...(await tenants.problems())];
}

/** Whole seconds. @param {number} sinceMs */
const elapsed = (sinceMs) => Math.round((Date.now() - sinceMs) / 1_000);

/** As if all of them had been found on a day when the limit was higher. $1: account, $2 and $3: numbers, $4: monitored domain */
const dueFindings = `
  INSERT INTO monitoring_finding (account_id, tbs_sha256, spki_sha256, not_after, dns_names_sha256, endpoints, endpoint_count,
    dns_names, monitored_domains, source, state, reason, found_at, alert_due_at)
  SELECT $1::bigint, sha256(('due ' || nth)::bytea), sha256(('key ' || nth)::bytea), now() + interval '90 days',
    sha256('names'), jsonb_build_array(jsonb_build_object('dns_name', 'due' || nth || $4::text, 'monitored_domain', $4::text,
      'wildcard', false, 'odd_name', false)), 1, ARRAY['due' || nth || $4::text], ARRAY[$4::text],
    'stream', 'unknown', 'unknown', now(), now()
  FROM generate_series($2::int, $3::int) AS nth`;

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
      const issuances = Array.from({ length: Math.min(BATCH, count - from) }, (_, nth) =>
        this.#issuance(namesOf(from + nth)),
      );
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
