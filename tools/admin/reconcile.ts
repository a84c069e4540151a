import { readFile } from 'node:fs/promises';
import { findHold, Outbox, Transactions, type Tx } from '@certwright/core-schema';
import { type Crl, readCrl, RevokedCertificates } from '@certwright/ct';
import { unpackBody } from '@certwright/ct-index';
import { type ApprovalWay, revocationReason, revocationReasons } from '@certwright/issuance';
import { Issuances, openReplacements, Revocations } from '@certwright/ordering';
import {
  type Certificate,
  decodePem,
  readCertificate,
  type SignatureAlgorithm,
  verifySignature,
} from '@certwright/pki';
import type { DataSource } from 'typeorm';
import type { WithDatabase } from './with-database';

export interface ReconcileOptions {
  /** PEM files with certificates of the built-in CA. */
  readonly certificates: readonly string[];
  /** Files with revocation lists of the built-in CA. */
  readonly revocationLists: readonly string[];
  readonly useIndex: boolean;
  readonly dryRun: boolean;
}

/** An intermediate of the built-in CA. */
interface Issuer {
  readonly name: string;
  readonly certificate: Certificate;
}

/** A plan whose certificate may be missing. */
interface Candidate {
  readonly planId: string;
  readonly accountId: string;
  readonly revision: number;
  readonly termsId: string;
  readonly dnsNames: readonly string[];
  readonly spkiSha256: Buffer;
  readonly approvalWays: Record<string, ApprovalWay> | null;
  readonly paidThrough: Date | null;
  /** Null: none is open. */
  readonly issuanceId: string | null;
  /** The newest certificate of the plan, which a lost one has replaced; null: it has none. */
  readonly certificateId: string | null;
}

export interface Reconciled {
  /** Certificates of the built-in CA that were found, and not stored before. */
  found: number;
  /** Of them: recorded for an issuance, which gets exactly this certificate. */
  recorded: number;
  /** Serial numbers, names and digests of those that belong to no order. */
  readonly withoutOrder: string[];
  /** Certificates of other CAs for keys and names of open issuances, which are not stored here. */
  readonly ofOtherCas: string[];
  revoked: number;
}

/** Certificates of one transaction. */
const batch = 200;
/** Rows of the index that are read at a time. */
const pageSize = 1_000;
/** Clocks of the databases differ, and a log publishes late. */
const marginMs = 60 * 60 * 1_000;
/**
 * More lists than an intermediate signs between a backup and the restoration: clients may refuse a list with a smaller number than
 * one that they have seen (RFC 5280, 5.2.3).
 */
const lostLists = 100_000;

/** More changes than agents of a cluster see between a backup and the restoration: they begin again (docs/agent-protocol.md). */
const lostVersions = 1_000_000;

/**
 * Compares the database with what was issued. A certificate of the built-in CA that is not in the ledger of signings is
 * recorded for the issuance of its key and names: the worker signs the same bytes again, which yields the same certificate.
 * Can be repeated.
 */
export async function reconcile(
  database: DataSource,
  withIndex: WithDatabase,
  options: ReconcileOptions,
): Promise<Reconciled> {
  if ((await findHold(database)) === null)
    throw new Error(
      'Issuances are not held. Run "admin issuance hold" first, so that nothing is issued meanwhile.',
    );
  const issuers = await issuersOf(database);
  const certificates: Certificate[] = [];
  for (const file of options.certificates) certificates.push(...(await certificatesIn(file, issuers)));
  const lists: SignedList[] = [];
  for (const file of options.revocationLists) lists.push(await listIn(file, issuers));
  // Every file has been read: one that cannot be used has changed nothing.
  const candidates = await candidatesOf(database);
  const result: Reconciled = { found: 0, recorded: 0, withoutOrder: [], ofOtherCas: [], revoked: 0 };
  const place: Place = { issuers, candidates, result, seen: new Set() };
  const take = async (certificates: readonly Certificate[]) => {
    for (let start = 0; start < certificates.length; start += batch)
      await record(database, certificates.slice(start, start + batch), { ...place, options });
  };
  await take(certificates);
  if (options.useIndex) {
    const since = new Date((await lastActivity(database)).getTime() - marginMs);
    await withIndex(async (index) => {
      for await (const page of logged(index, since)) await take(await sortOut(database, page, place));
    });
  }
  for (const list of lists) await revokeListed(database, list, options, result);
  if (!options.dryRun) {
    await database.query(
      `UPDATE cluster SET version = version + $1, reset_before = version + $1
       WHERE EXISTS (SELECT FROM agent WHERE agent.account_id = cluster.account_id AND agent.cluster = cluster.name)`,
      [lostVersions],
    );
    await database.query(
      `UPDATE ca_issuer SET crl_made_at = NULL, crl_number = crl_number + $1 WHERE name LIKE 'intermediate%'`,
      [lostLists],
    );
  }
  return result;
}

async function issuersOf(database: DataSource): Promise<readonly Issuer[]> {
  const rows = await database.query<{ name: string; certificate: Buffer }[]>(
    `SELECT name, certificate FROM ca_issuer WHERE name LIKE 'intermediate%' ORDER BY name`,
  );
  return rows.map(({ name, certificate }) => ({
    name,
    certificate: parsed(certificate, `ca_issuer ${name}`),
  }));
}

const keyOf = (spkiSha256: string, dnsNames: readonly string[]) =>
  [spkiSha256, ...[...dnsNames].sort()].join(' ');

const keyOfPlan = ({ spkiSha256, dnsNames }: Candidate) => keyOf(spkiSha256.toString('hex'), dnsNames);

type Candidates = Map<string, Candidate[]>;

/** Plans with an open issuance first, the oldest first: they were ordered before. */
async function candidatesOf(database: DataSource): Promise<Candidates> {
  const rows = await database.query<Candidate[]>(
    `SELECT plan.id AS "planId", plan.account_id AS "accountId", plan.revision, terms.id AS "termsId",
       terms.dns_names AS "dnsNames", terms.spki_sha256 AS "spkiSha256", terms.approval_ways AS "approvalWays",
       plan.paid_through AS "paidThrough", issuance.id AS "issuanceId",
       (SELECT id FROM certificate WHERE certificate.plan_id = plan.id AND NOT imported
        ORDER BY is_current DESC, not_after DESC, id DESC LIMIT 1) AS "certificateId"
     FROM plan JOIN terms ON terms.id = plan.terms_id
     LEFT JOIN issuance ON issuance.plan_id = plan.id AND issuance.state = 'open' AND issuance.terms_id = plan.terms_id
     WHERE plan.closed_at IS NULL AND NOT plan.paused
       AND NOT EXISTS (SELECT 1 FROM ca_signing WHERE ca_signing.issuance_id = issuance.id)
     ORDER BY issuance.id NULLS LAST, plan.id`,
  );
  const candidates: Candidates = new Map();
  for (const row of rows) {
    const key = keyOfPlan(row);
    candidates.set(key, [...(candidates.get(key) ?? []), row]);
  }
  return candidates;
}

/** About the time to which the database was restored: without orders that were accepted since, which may be days later. */
async function lastActivity(database: DataSource): Promise<Date> {
  const [{ at }] = await database.query<[{ at: Date }]>(
    `SELECT greatest((SELECT max(opened_at) FROM issuance WHERE opened_at < held_since),
       (SELECT max(created_at) FROM certificate WHERE created_at < held_since), 'epoch'::timestamptz) AS at FROM deployment`,
  );
  return at;
}

interface LoggedRow {
  readonly position: string;
  readonly tbsSha256: Buffer;
  readonly spkiSha256: string;
  readonly dnsNames: readonly string[];
  readonly precertificate: boolean;
  readonly issuerSpki: string;
  readonly serial: Buffer;
  readonly body: Buffer;
}

/** What the index discovered since then, in the order of positions. */
async function* logged(index: DataSource, since: Date): AsyncGenerator<readonly LoggedRow[]> {
  let after = await positionAt(index, since);
  for (;;) {
    const rows = await index.query<LoggedRow[]>(
      `SELECT issuance.position, tbs_sha256 AS "tbsSha256", encode(issuance.spki_sha256, 'hex') AS "spkiSha256", dns_names AS "dnsNames",
         precertificate, encode(ct_issuer.spki_sha256, 'hex') AS "issuerSpki", serial, body
       FROM (SELECT * FROM ct_issuance WHERE position >= $1 AND discovered_at >= $2 ORDER BY position LIMIT $3) AS issuance
       JOIN ct_issuer ON ct_issuer.id = issuance.issuer ORDER BY issuance.position`,
      [after, since, pageSize],
    );
    yield rows;
    const last = rows.at(-1);
    if (rows.length < pageSize || last === undefined) return;
    after = String(BigInt(last.position) + 1n);
  }
}

/** A position before which everything was discovered earlier: positions grow with time. */
async function positionAt(index: DataSource, since: Date): Promise<string> {
  const [{ next }] = await index.query<[{ next: string }]>(`SELECT next FROM ct_sequence`);
  let [low, high] = [0n, BigInt(next)];
  while (low < high) {
    const middle = (low + high) / 2n;
    const [row] = await index.query<[{ position: string; isBefore: boolean }?]>(
      `SELECT position, discovered_at < $2 AS "isBefore" FROM ct_issuance WHERE position >= $1 ORDER BY position LIMIT 1`,
      [String(middle), since],
    );
    if (row?.isBefore === true) low = BigInt(row.position) + 1n;
    else high = middle;
  }
  return String(low);
}

interface Place {
  readonly issuers: readonly Issuer[];
  /** Without those that have got their certificate. */
  readonly candidates: Candidates;
  readonly result: Reconciled;
  /** Serial numbers of certificates that were found, hex: one may be in several files and in the index. */
  readonly seen: Set<string>;
}

/** @returns certificates of the built-in CA; those of other CAs are added to the result */
async function sortOut(
  database: DataSource,
  rows: readonly LoggedRow[],
  { issuers, candidates, result }: Place,
): Promise<readonly Certificate[]> {
  const own = new Set(issuers.map(({ certificate }) => sha256OfSpki(certificate)));
  const ours = rows.filter(({ issuerSpki, precertificate }) => own.has(issuerSpki) && !precertificate);
  const others = rows.filter(
    ({ issuerSpki, spkiSha256, dnsNames }) =>
      !own.has(issuerSpki) &&
      candidates.get(keyOf(spkiSha256, dnsNames))?.some(({ issuanceId }) => issuanceId !== null) === true,
  );
  const known = await database.query<{ tbs: string }[]>(
    `SELECT encode(tbs_sha256, 'hex') AS tbs FROM certificate WHERE tbs_sha256 = ANY ($1::bytea[])`,
    [others.map(({ tbsSha256 }) => tbsSha256)],
  );
  const stored = new Set(known.map(({ tbs }) => tbs));
  for (const { tbsSha256, serial, dnsNames } of others)
    if (!stored.has(tbsSha256.toString('hex')))
      result.ofOtherCas.push(
        `${serial.toString('hex')}\t${dnsNames.join(',')}\ttbs_sha256=${tbsSha256.toString('hex')}`,
      );
  return ours.map(({ body, position }) => parsed(unpackBody(body), `position ${position} of the index`));
}

const sha256OfSpki = ({ spkiSha256 }: Certificate) => spkiSha256;

async function certificatesIn(file: string, issuers: readonly Issuer[]): Promise<readonly Certificate[]> {
  const text = await readFile(file, 'utf8');
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  const certificates = blocks.map((block, count) => {
    const pem = decodePem(block, 1);
    const [first] = pem.ok ? pem.blocks : [];
    if (first === undefined)
      throw new Error(`${file}: certificate ${count + 1} is no valid PEM. Correct or remove it.`);
    return parsed(first.der, `${file}: certificate ${count + 1}`);
  });
  const foreign = certificates.findIndex((each) => !each.isCa && issuerOf(each, issuers) === undefined);
  if (foreign !== -1)
    throw new Error(`${file}: certificate ${foreign + 1} was not issued by the built-in CA. Remove it.`);
  return certificates.filter(({ isCa }) => !isCa);
}

function parsed(der: Uint8Array, place: string): Certificate {
  const reading = readCertificate(der);
  if (!reading.ok) throw new Error(`${place}: the certificate cannot be read: ${reading.detail}`);
  return reading.certificate;
}

const hasSigned = (
  { certificate }: Issuer,
  signed: {
    readonly algorithm: SignatureAlgorithm;
    readonly tbsDer: Uint8Array;
    readonly signature: Uint8Array;
  },
) =>
  signed.algorithm.accepted !== undefined &&
  verifySignature(certificate.spkiDer, signed.algorithm.accepted, signed.tbsDer, signed.signature);

const issuerOf = (certificate: Certificate, issuers: readonly Issuer[]) =>
  issuers.find((issuer) => hasSigned(issuer, { ...certificate, algorithm: certificate.signatureAlgorithm }));

/** Content bytes of the DER INTEGER. */
function serialOf({ serialNumber }: Certificate): Buffer {
  const bytes = Buffer.from(serialNumber, 'hex');
  return (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes;
}

async function record(
  database: DataSource,
  certificates: readonly Certificate[],
  { issuers, candidates, result, seen, options }: Place & { readonly options: ReconcileOptions },
): Promise<void> {
  // Nothing outside the transaction is changed before it is committed: it may run again.
  const done = await new Transactions(database).run(async (tx) => {
    const rows = await tx.query<{ serial: string }[]>(
      `SELECT encode(serial_number, 'hex') AS serial FROM ca_signing WHERE serial_number = ANY ($1::bytea[])`,
      [certificates.map(serialOf)],
    );
    const known = new Set(rows.map(({ serial }) => serial));
    const found = new Set<string>();
    const used = new Set<Candidate>();
    const withoutOrder: string[] = [];
    for (const certificate of certificates) {
      const serial = serialOf(certificate).toString('hex');
      // In a file and in the index, or a certificate that somebody else logged under our name.
      if (known.has(serial) || seen.has(serial) || found.has(serial)) continue;
      const issuer = issuerOf(certificate, issuers);
      if (issuer === undefined) continue;
      found.add(serial);
      const candidate = candidates
        .get(keyOf(certificate.spkiSha256, certificate.dnsNames))
        ?.find((each) => !used.has(each));
      if (candidate !== undefined) used.add(candidate);
      const isRecorded =
        candidate !== undefined &&
        (options.dryRun || (await recordFor(tx, database, candidate, { certificate, issuer })));
      if (!isRecorded) withoutOrder.push(lineOf(certificate));
    }
    return { found, used, withoutOrder };
  });
  for (const serial of done.found) seen.add(serial);
  for (const candidate of done.used) {
    const key = keyOfPlan(candidate);
    candidates.set(key, candidates.get(key)?.filter((each) => each !== candidate) ?? []);
  }
  result.found += done.found.size;
  result.recorded += done.found.size - done.withoutOrder.length;
  result.withoutOrder.push(...done.withoutOrder);
}

const lineOf = (certificate: Certificate) =>
  `${serialOf(certificate).toString('hex')}\t${certificate.dnsNames.join(',')}\tsha256=${certificate.sha256}`;

/**
 * As `CaSignings.record` does before a signing. A late holder of the lease loses it.
 *
 * @returns false when the plan has ended meanwhile, or its certificate was replaced already
 */
async function recordFor(
  tx: Tx,
  database: DataSource,
  candidate: Candidate,
  { certificate, issuer }: { readonly certificate: Certificate; readonly issuer: Issuer },
): Promise<boolean> {
  await tx.query(`SELECT 1 FROM plan WHERE id = $1 FOR UPDATE`, [candidate.planId]);
  const issuanceId = candidate.issuanceId ?? (await openFor(tx, database, candidate));
  if (issuanceId === undefined) return false;
  const [, changed] = await tx.query<[unknown, number]>(
    `UPDATE issuance SET ca_reference = id::text, lease_token = lease_token + 1, leased_until = NULL, due_at = clock_timestamp()
     WHERE id = $1 AND state = 'open'`,
    [issuanceId],
  );
  if (changed === 0) return false;
  await tx.query(
    `INSERT INTO ca_signing (issuance_id, serial_number, tbs, issuer, not_after) VALUES ($1, $2, $3, $4, $5)`,
    [issuanceId, serialOf(certificate), Buffer.from(certificate.tbsDer), issuer.name, certificate.notAfter],
  );
  return true;
}

/** For a lost renewal or replacement. */
async function openFor(tx: Tx, database: DataSource, candidate: Candidate): Promise<string | undefined> {
  const { certificateId, paidThrough: expiresBy } = candidate;
  if (certificateId === null)
    return await new Issuances(database, new Outbox(database)).open(tx, {
      ...candidate,
      expiresBy,
      settlingMs: 0,
    });
  const [id] = await openReplacements(tx, [{ ...candidate, expiresBy, certificateId }]);
  return id;
}

interface SignedList {
  readonly crl: Crl;
  readonly issuer: Issuer;
}

async function listIn(file: string, issuers: readonly Issuer[]): Promise<SignedList> {
  const reading = readCrl(await readFile(file));
  if (!reading.ok)
    throw new Error(`${file}: is no revocation list (${reading.fault}). Give it in DER or PEM.`);
  const { crl } = reading;
  const issuer = issuers.find(({ certificate }) => isListOf(crl, certificate));
  if (issuer === undefined)
    throw new Error(
      `${file}: no intermediate of the built-in CA has signed this list. Give its own published list.`,
    );
  return { crl, issuer };
}

async function revokeListed(
  database: DataSource,
  { crl, issuer }: SignedList,
  { dryRun }: ReconcileOptions,
  result: Reconciled,
): Promise<void> {
  for (const { serial, revokedAt, reason } of new RevokedCertificates(crl)) {
    const content = (serial[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), serial]) : serial;
    // The only reason that replaces another one: see `lastingReason`.
    const isCompromised = reason === revocationReasons.keyCompromise;
    const rows = await database.query<{ planId: string | null; certificateId: string | null }[]>(
      `SELECT certificate.plan_id AS "planId", certificate.id AS "certificateId"
       FROM ca_signing LEFT JOIN certificate ON certificate.issuance_id = ca_signing.issuance_id
       WHERE ca_signing.serial_number = $1 AND ca_signing.not_after > now()
         AND (ca_signing.revoked_at IS NULL OR (certificate.id IS NOT NULL AND certificate.revoked_at IS NULL)
           OR ($2 AND ca_signing.revocation_reason IS DISTINCT FROM ${revocationReasons.keyCompromise}))`,
      [content, isCompromised],
    );
    result.revoked += rows.length;
    if (dryRun) continue;
    for (const { planId, certificateId } of rows)
      await new Transactions(database).run(async (tx) => {
        // On the next list, whatever happens to the job that the request enqueues.
        await tx.query(
          `UPDATE ca_signing SET revoked_at = coalesce(revoked_at, $2), revocation_reason = $3
           WHERE serial_number = $1 AND (revoked_at IS NULL OR $4)`,
          [content, new Date(revokedAt), reason, isCompromised],
        );
        if (planId !== null && certificateId !== null)
          await new Revocations().request(tx, {
            // A list does not say who reported it, and a customer's report must not block a key of another account.
            ...{ planId, certificateId, requestedBy: 'subscriber' },
            reason: revocationReason(reason) ?? revocationReasons.unspecified,
          });
      });
  }
  if (!dryRun && crl.number !== null)
    await database.query(
      `UPDATE ca_issuer SET crl_number = greatest(crl_number, $2), crl_made_at = NULL WHERE name = $1`,
      [issuer.name, crl.number],
    );
}

/** RSASSA-PKCS1-v1_5 with SHA-256, as the built-in CA signs. */
const isListOf = ({ tbsDer, signature }: Crl, { spkiDer }: Certificate) =>
  verifySignature(
    spkiDer,
    { name: 'sha256WithRSAEncryption', key: 'rsa', hash: 'sha256' },
    tbsDer,
    signature,
  );
