// @ts-check
// A base image without a registry: debootstrap downloads Debian's packages, checked against Debian's signatures, and the
// four that images take files from are unpacked, with their entries for dpkg's status. Nothing is run, so that it also works for another processor.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { run } from '../embedded/child.mjs';
import { imagesFolder } from './context.mjs';

const SUITE = 'bookworm';
const PACKAGES = ['gcc-12-base', 'libc6', 'libgcc-s1', 'libstdc++6'];
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000;

/**
 * @param {import('./context.mjs').Architecture} architecture
 * @param {import('./engine.mjs').Engine} engine
 * @returns {Promise<string>} the tag of the base image
 */
export async function debianBase(architecture, engine) {
  const place = path.join(imagesFolder, 'debian', architecture);
  const root = path.join(place, 'root');
  rmSync(place, { recursive: true, force: true });
  mkdirSync(path.join(root, 'var/lib/dpkg'), { recursive: true });
  const download = path.join(place, 'download');
  const how = ['--download-only', '--variant=minbase', `--arch=${architecture}`];
  await run('debootstrap', [...how, SUITE, download, await mirror()], {
    timeoutMs: DOWNLOAD_TIMEOUT_MS,
  }).catch((error) => {
    throw new Error(
      `The base image could not be made: ${error.message}\nIt needs debootstrap, root and a mirror of Debian. ` +
        'Or name a base image: npm run images -- --base debian:bookworm-slim@sha256:…',
    );
  });
  const archives = path.join(download, 'var/cache/apt/archives');
  const files = readdirSync(archives);
  const entries = [];
  for (const name of PACKAGES) {
    const file = files.find((each) => decodeURIComponent(each).startsWith(`${name}_`));
    if (file === undefined) throw new Error(`debootstrap has not downloaded ${name}.`);
    const archive = path.join(archives, file);
    await run('dpkg-deb', ['--extract', archive, root]);
    const fields = await run('dpkg-deb', ['--field', archive]);
    entries.push(`${fields.stdout.trim()}\nStatus: install ok installed\n`);
  }
  // In an installed Debian, /lib is a link to /usr/lib.
  await run('cp', ['--archive', `${path.join(root, 'lib')}/.`, path.join(root, 'usr/lib')]);
  for (const folder of ['lib', 'lib64', 'usr/share'])
    rmSync(path.join(root, folder), { recursive: true, force: true });
  writeFileSync(path.join(root, 'var/lib/dpkg/status'), entries.join('\n'));
  const tag = `localhost/certwright-base:${architecture}`;
  await engine.importBase(root, tag, architecture);
  return tag;
}

/** The mirror of this machine, if it is a Debian. */
async function mirror() {
  const fallback = 'http://deb.debian.org/debian/';
  const targets = await run('apt-get', ['indextargets', '--format', '$(REPO_URI)']).catch(() => null);
  return targets?.stdout.split('\n').find((each) => each.includes('/debian/')) ?? fallback;
}
