// @ts-check
// Assembles a Debian package without debhelper. Owners, modes, times and order are fixed, so the same input gives the same bytes.
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../embedded/child.mjs';
import { workspaceRoot } from '../up/workspace.mjs';

const sources = path.join(path.dirname(fileURLToPath(import.meta.url)), 'debian');

/**
 * @typedef {object} Content
 * @property {string} executable
 * @property {string} nodeLicense
 * @property {import('../images/context.mjs').Architecture} architecture
 * @property {string} version of Debian's form
 * @property {'xz' | 'none'} compression
 * @property {number} epoch seconds; the time of every file
 */

/**
 * @param {string} folder emptied
 * @param {string} file the package
 * @param {Content} content
 */
export async function writeDebianPackage(folder, file, content) {
  rmSync(folder, { recursive: true, force: true });
  const doc = 'usr/share/doc/certwright-agent';
  /** Source, place, mode. @type {readonly (readonly [string, string, number])[]} */
  const files = [
    [content.executable, 'usr/bin/certwright-agent', 0o755],
    [
      path.join(sources, 'certwright-agent.service'),
      'usr/lib/systemd/system/certwright-agent.service',
      0o644,
    ],
    [path.join(sources, 'agent.toml'), 'etc/certwright-agent/agent.toml', 0o644],
    [path.join(sources, 'copyright'), `${doc}/copyright`, 0o644],
    [content.nodeLicense, `${doc}/LICENSE.node`, 0o644],
    [path.join(workspaceRoot, 'docs/agent.md'), `${doc}/agent.md`, 0o644],
    ...['postinst', 'prerm', 'postrm'].map(
      (name) => /** @type {const} */ ([path.join(sources, name), `DEBIAN/${name}`, 0o755]),
    ),
  ];
  for (const [source, place, mode] of files) {
    const target = path.join(folder, place);
    mkdirSync(path.dirname(target), { recursive: true });
    cpSync(source, target);
    chmodSync(target, mode);
  }
  mkdirSync(path.join(folder, 'etc/certwright-agent/conf.d'), { recursive: true });
  const installed = files.map(([, place]) => place).filter((place) => !place.startsWith('DEBIAN/'));
  const digests = installed.map((place) => `${md5(path.join(folder, place))}  ${place}\n`);
  const kib = installed.reduce(
    (sum, place) => sum + Math.ceil(statSync(path.join(folder, place)).size / 1024),
    0,
  );
  writeFileSync(path.join(folder, 'DEBIAN/md5sums'), digests.sort().join(''));
  writeFileSync(path.join(folder, 'DEBIAN/conffiles'), '/etc/certwright-agent/agent.toml\n');
  writeFileSync(path.join(folder, 'DEBIAN/control'), control(content, kib));
  for (const name of ['md5sums', 'conffiles', 'control']) chmodSync(path.join(folder, 'DEBIAN', name), 0o644);
  fixFolderModes(folder);
  await run('dpkg-deb', ['--root-owner-group', `-Z${content.compression}`, '--build', folder, file], {
    // Times of files that are newer become this one. Everything here is newer.
    env: { ...process.env, SOURCE_DATE_EPOCH: String(content.epoch), LC_ALL: 'C.UTF-8' },
    timeoutMs: 600_000,
  });
}

/** @param {Content} content @param {number} kib */
const control = ({ version, architecture }, kib) => `Package: certwright-agent
Version: ${version}
Architecture: ${architecture}
Maintainer: The Certwright authors <agent@certwright.example>
Installed-Size: ${kib}
Depends: libc6 (>= 2.28), libstdc++6 (>= 5.2), libgcc-s1, init-system-helpers (>= 1.54~)
Recommends: ca-certificates
Section: admin
Priority: optional
Description: keeps the certificates of this host's servers valid
 The agent of Certwright makes private keys on this host, gets certificates for
 the orders of its cluster, installs them for the servers of the host, reloads
 these, and checks that visitors receive the new certificate.
`;

/** @param {string} file */
const md5 = (file) => createHash('md5').update(readFileSync(file)).digest('hex');

/**
 * They depend on the umask.
 * @param {string} folder
 */
function fixFolderModes(folder) {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) fixFolderModes(path.join(folder, entry.name));
  }
}
