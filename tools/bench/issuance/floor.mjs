// The baseline of this machine: signatures, verifications and commits alone.
import { generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { workspaceRoot } from '../../build/bundle.mjs';
import { startPostgres } from '../../embedded/postgres.mjs';

const roundMs = 1_500;
const writers = 16;

/** @param {() => void} work @returns {number} per second, on one core */
function rate(work) {
  for (let warm = 0; warm < 20; warm += 1) work();
  const start = performance.now();
  let count = 0;
  while (performance.now() - start < roundMs) {
    work();
    count += 1;
  }
  return count / ((performance.now() - start) / 1_000);
}

/** @returns {{ rsaSignatures: number, ecdsaVerifications: number }} per second and core */
export function signatureFloor() {
  const tbs = randomBytes(900);
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signature = sign('sha256', tbs, ec.privateKey);
  return {
    rsaSignatures: rate(() => sign('sha256', tbs, rsa.privateKey)),
    ecdsaVerifications: rate(() => verify('sha256', tbs, ec.publicKey, signature)),
  };
}

/**
 * Durable commits of one row each, with 16 concurrent connections, in a new cluster. Two clusters of one run differ by more than a
 * tenth: use the median of several.
 *
 * @returns {Promise<number>} per second
 */
export async function commitFloor() {
  const folder = mkdtempSync(path.join(tmpdir(), 'certwright-bench-'));
  try {
    const postgres = await startPostgres({ workspaceRoot, folder });
    try {
      return await commitsPerSecond(postgres.url());
    } finally {
      await postgres.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} url @returns {Promise<number>} */
async function commitsPerSecond(url) {
  const pool = new pg.Pool({ connectionString: url, max: writers });
  // The server may stop before it has seen that the pool has closed a connection.
  pool.on('error', () => undefined);
  await pool.query('CREATE TABLE bench_commit (id bigint GENERATED ALWAYS AS IDENTITY, data bytea)');
  const data = randomBytes(1_000);
  const start = performance.now();
  let commits = 0;
  const write = async () => {
    while (performance.now() - start < roundMs) {
      await pool.query('INSERT INTO bench_commit (data) VALUES ($1)', [data]);
      commits += 1;
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
  const seconds = (performance.now() - start) / 1_000;
  await pool.end();
  return commits / seconds;
}
