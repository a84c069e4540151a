// `node tools/bench/ct/reading.mjs`: how fast libs/ct parses real certificates, compared with SHA-256 over the same bytes, Node and pkijs.
import { hash, X509Certificate } from 'node:crypto';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { Certificate } from 'pkijs';
import { table } from '../report.mjs';
import { inTurns } from './in-turns.mjs';
import { entriesOf, loaded } from './real-entries.mjs';

/** For parsers that take milliseconds each. */
const fewCertificates = 64;

/** @returns {Promise<(string | number)[][]>} rows of a table, its head first */
export async function reading() {
  const { ct } = await loaded({ ct: 'libs/ct/src/index.ts' });
  const entries = entriesOf(ct);
  const precertificates = entries.map(({ precertificateDer }) => precertificateDer);
  const few = precertificates.slice(0, fewCertificates);
  const each = (list, work) => () => list.filter((item) => work(item) !== null).length;
  const sha256 = (bytes) => hash('sha256', bytes, 'hex');
  const rates = await inTurns({
    baseline: each(precertificates, sha256),
    completely: each(precertificates, (der) => {
      const issued = ct.readIssued(der, 'precertificate');
      return [ct.tbsSha256(issued), sha256(issued.spkiDer)];
    }),
    withoutDigests: each(precertificates, (der) => ct.readIssued(der, 'precertificate')),
    node: each(few, (der) => new X509Certificate(der).subjectAltName),
    pkijs: each(few, (der) => Certificate.fromBER(der).extensions.length),
  });
  const row = (name, rate) => [
    name,
    Math.round(rate).toLocaleString('en'),
    (rate / rates.baseline).toFixed(3),
    (rate / rates.pkijs).toFixed(0),
  ];
  return [
    ['', 'a second of CPU', 'of SHA-256', 'times pkijs'],
    row('SHA-256 over the certificate', rates.baseline),
    row('all fields, with the digests of TBSCertificate and key', rates.completely),
    row('the same without the digests', rates.withoutDigests),
    row('X509Certificate of Node, with its alternative names', rates.node),
    row('pkijs, to a tree', rates.pkijs),
  ];
}

if (argv[1] === fileURLToPath(import.meta.url)) console.log(table(await reading()));
